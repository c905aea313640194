/**
 * A fleet over a real nats-server under the deployed roles, and a thief with the seed of a pod-writer: how far the
 * thief can mislead the other members about the fleet.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeKeys } from "../../deploy/nats/make-keys.ts";
import { frameId } from "../../protocols/frame.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT, subjectOf } from "../../protocols/subjects.ts";
import { encode } from "../../protocols/wire.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { BusFleet } from "../../services/platform/fleet/fleet.ts";
import { ForeignMembers } from "../../services/platform/fleet/foreign-members.ts";
import { metricValue } from "../support/metric-value.ts";
import { atEnd, clock, folder, link, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { until } from "../support/until.ts";

const MEMBER_PULSE_MS = 100;
/** Long enough that a busy machine does not make a member silent. */
const MEMBER_TIMEOUT_MS = 2000;
const READERS = ["reader-0", "reader-1"];
/** The process whose seed is stolen, in a deployment where each process has a user of its own. */
const STOLEN = "reader-2";
const SHARDS = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

const ONE_OWNER = SHARDS.map(() => 1).join("");

/**
 * Two readers that share the shards, and the connection of a thief. The thief has the seed of a pod-writer or, where
 * each process has a user of its own, that of a third reader.
 */
async function fleetUnderAttack({ isUserEach = false, fleetMembersMax = READERS.length } = {}) {
  const keys = folder();
  makeKeys(keys, isUserEach ? [...READERS, STOLEN].map((member) => ({ role: "reader", member })) : []);
  const fileOf = (name: string) => readFileSync(join(keys, name), "utf8");
  const files = { "keys.conf": fileOf("keys.conf"), "roles.conf": fileOf("roles.conf") };
  const server = await serve({ config: 'include "roles.conf"', files });
  const linkAs = (role: string) => link(server.url, { nkeyFile: join(keys, `${role}.nk`) });
  const profile = {
    ...STANDARD_PROFILE,
    memberPulseMs: MEMBER_PULSE_MS,
    memberTimeoutMs: MEMBER_TIMEOUT_MS,
    fleetMembersMax,
  };
  const enter = async (member: string) => {
    const { transport, log, metrics } = await linkAs(isUserEach ? member : "reader");
    const common = { clock, member, cluster: "c", log, metrics, profile };
    const foreignMembers = new ForeignMembers({ ...common, clusterUid: "ours" });
    const isForeign = (source: string) => foreignMembers.sent(source);
    const bus = typedBus({ ...common, transport, service: "fleet", isForeign, mailboxMessagesMax: 100_000 });
    const fleet = new BusFleet({ ...common, bus, services: ["node"], foreignMembers });
    atEnd(() => fleet.goodbye());
    return {
      fleet,
      log,
      metrics,
      strangers: foreignMembers,
      owned: () => SHARDS.map((shard) => fleet.owns("node", shard)),
    };
  };
  const readers = await Promise.all(READERS.map(enter));
  const ownersPerShard = () =>
    SHARDS.map((shard) => readers.filter(({ fleet }) => fleet.owns("node", shard)).length).join("");
  const isShared = () => readers.every(({ owned }) => owned().includes(true) && owned().includes(false));
  await until("two share the shards", () => isShared() && ownersPerShard() === ONE_OWNER);
  const liar = await linkAs(isUserEach ? STOLEN : "pod-writer");
  const lie = (member: string, lied: Partial<BodyOf<"pulse.member">>, sequence = 1, epoch = clock.wallMs()) => {
    const source = `fleet@${member}`;
    const id = frameId(source, Math.floor(epoch), "pulse.member", 0, sequence);
    const honest = { member, services: ["node"], since: clock.wallMs(), leaving: false, clusterUid: "ours" };
    const frame = { type: "pulse.member", id, source, at: clock.wallMs(), cause: null } as const;
    liar.transport.publish(
      subjectOf("c", "pulse.member", 0, [member]),
      encode({ ...frame, body: { ...honest, ...lied } }),
    );
  };
  /**
   * Sends forged pulses every few milliseconds for three timeouts. Resolves with each set of owners per shard that
   * occurred.
   */
  const lieOn = async (tell: () => void) => {
    const seen = new Set<string>();
    const endMs = clock.monotonicMs() + 3 * MEMBER_TIMEOUT_MS;
    await until(
      "the forged pulses have lasted",
      () => {
        tell();
        seen.add(ownersPerShard());
        return clock.monotonicMs() > endMs;
      },
      { everyMs: 20, withinMs: 60_000 },
    );
    return [...seen];
  };
  return { readers, liar, lie, lieOn };
}

describeWithEachNats("a stolen seed of a pod-writer", () => {
  test("takes no shard from a reader by a pulse in its name, and does not silence it", async () => {
    const { readers, lie, lieOn } = await fleetUnderAttack();
    const seen = await lieOn(() => {
      for (const member of READERS) {
        lie(member, { services: [] }, 1, Number.MAX_SAFE_INTEGER);
        lie(member, { services: [] }, Number.MAX_SAFE_INTEGER);
        lie(member, { leaving: true });
        lie(member, { clusterUid: "theirs" });
      }
    });
    expect(seen).toEqual([ONE_OWNER]);
    for (const { strangers, log, metrics } of readers) {
      expect(READERS.filter((member) => strangers.sent(`node@${member}`))).toEqual([]);
      expect(
        await metricValue(metrics, "vigil_fleet_pulses_refused_total", { reason: "foreign-cluster" }),
      ).toBeGreaterThan(10);
      expect(log.lines.filter(({ level }) => level === "error").length).toBeLessThanOrEqual(10);
    }
  });

  test("invents no member where --fleet-members-max is the number of members", async () => {
    const { readers, lie, lieOn } = await fleetUnderAttack();
    let published = 0;
    const seen = await lieOn(() => {
      for (let index = 0; index < 20; index++) lie(`invented-${published++ % 3000}`, {});
    });
    expect(seen).toEqual([ONE_OWNER]);
    for (const { metrics } of readers) {
      expect(await metricValue(metrics, "vigil_fleet_pulses_refused_total", { reason: "full" })).toBeGreaterThan(100);
    }
  });
});

describeWithEachNats("a stolen seed of one process, with a user for each process", () => {
  test("sends nothing in the name of another process, real or invented", async () => {
    const { readers, liar, lie, lieOn } = await fleetUnderAttack({ isUserEach: true, fleetMembersMax: 64 });
    const seen = await lieOn(() => {
      for (const member of [...READERS, "invented"]) lie(member, { services: [], leaving: member === READERS[0] });
    });
    expect(seen).toEqual([ONE_OWNER]);
    expect(await metricValue(liar.metrics, "vigil_nats_permission_violations_total")).toBeGreaterThan(10);
    for (const { metrics } of readers) {
      expect(await metricValue(metrics, "vigil_fleet_pulses_refused_total")).toBe(0);
      expect(await metricValue(metrics, "vigil_fleet_members")).toBe(READERS.length);
    }
  });
});
