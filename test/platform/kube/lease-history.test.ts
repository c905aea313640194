/** The renewals of leases that an API server still has, read from the embedded API. */
import { describe, expect, test } from "vitest";
import type { LeaseRenewal } from "../../../protocols/ports.ts";
import { Urgency } from "../../../protocols/ports.ts";
import { apiMicroTime } from "../../../services/domain/api-time.ts";
import { LEASE_HISTORY_MAX } from "../../../services/platform/kube/watch/lease-history.ts";
import { VirtualWorld } from "../../support/virtual-world.ts";
import { list, ReaderStage } from "./reader-stage.ts";

const SECOND_MS = 1000;
const NODES = ["a", "b"];

/** Nodes that renew every ten seconds, for a minute; `version` is that of the API after `versionAfterMs`. */
function renewed(versionAfterMs = 30 * SECOND_MS) {
  const world = new VirtualWorld();
  const kubelets = NODES.map((name) => world.addNode({ name }));
  world.advance(versionAfterMs);
  const version = String(world.api.store.revision);
  const fromMs = world.clock.wallMs();
  world.advance(60 * SECOND_MS - versionAfterMs);
  for (const kubelet of kubelets) kubelet.stop();
  return { world, version, fromMs };
}

/** What a request answers, and after how many milliseconds. */
function answered<T>(world: VirtualWorld, request: (done: (reply: T) => void) => void): { reply: T; afterMs: number } {
  const replies: { reply: T; afterMs: number }[] = [];
  const sentMs = world.clock.monotonicMs();
  request((reply) => replies.push({ reply, afterMs: world.clock.monotonicMs() - sentMs }));
  world.advance(10 * SECOND_MS);
  const [first, ...more] = replies;
  if (first === undefined || more.length > 0) throw new Error(`answered ${replies.length} times`);
  return first;
}

function historyOf(world: VirtualWorld, version: string) {
  return answered<readonly LeaseRenewal[] | null>(world, (done) => world.kube.leaseHistory(version, done));
}

/** A history from version 10 at a server that has reached 1000000; its watch is open. */
function scripted() {
  const { clock, wire, kube } = new ReaderStage();
  wire.next();
  const replies: (readonly LeaseRenewal[] | null)[] = [];
  kube.leaseHistory("10", (renewals) => replies.push(renewals));
  wire.next().answer(200, list("1000000", []));
  const watch = wire.next();
  watch.open();
  return { clock, watch, replies };
}

function renewalLine(version: number): object {
  const object = {
    metadata: { name: "a", resourceVersion: String(version) },
    spec: { renewTime: "2026-01-01T00:00:00.000000Z" },
  };
  return { type: "MODIFIED", object };
}

function renewLease(world: VirtualWorld, namespace: string, name: string, renewTime: string): void {
  const ref = { kind: "Lease", namespace, name } as const;
  const body = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace },
    spec: { renewTime },
  };
  const created = world.write({ verb: "create", ref, urgency: Urgency.healing, body });
  if (created.outcome !== "ok") throw new Error(created.detail);
}

describe("the history of leases", () => {
  test("has every renewal since the version, in order", () => {
    const { world, version, fromMs } = renewed();
    const { reply, afterMs } = historyOf(world, version);
    const byNode = Map.groupBy(reply ?? [], ({ node }) => node);
    expect([...byNode.keys()].toSorted()).toEqual(NODES);
    for (const renewals of byNode.values()) {
      const agesMs = renewals.map(({ renewTime }) => (renewTime ?? 0) - fromMs);
      expect(agesMs).toHaveLength(3);
      expect(agesMs.every((ageMs, index) => ageMs > (agesMs[index - 1] ?? 0) && ageMs <= 30 * SECOND_MS)).toBe(true);
    }
    expect(afterMs).toBeLessThanOrEqual(SECOND_MS);
  });

  test("is empty when nothing was renewed since", () => {
    const { world } = renewed();
    expect(historyOf(world, String(world.api.store.revision))).toEqual({ reply: [], afterMs: 0 });
  });

  test("ends a second after the last renewal, if others changed", () => {
    const { world, version } = renewed();
    world.patch({ kind: "Node", namespace: "", name: "a" }, { metadata: { labels: { changed: "yes" } } });
    const { reply, afterMs } = historyOf(world, version);
    expect([reply?.length, afterMs]).toEqual([6, SECOND_MS]);
  });

  test("ends after five seconds while renewals go on", () => {
    const { clock, watch, replies } = scripted();
    for (let version = 11; replies.length === 0 && version < 30; version++) {
      watch.line(renewalLine(version));
      clock.advance(500);
    }
    expect([clock.monotonicMs(), replies[0]?.length]).toEqual([5 * SECOND_MS, 10]);
    expect(watch.aborted).toBe(true);
  });

  test("has at most a bounded number of renewals", () => {
    const { watch, replies } = scripted();
    for (let version = 11; replies.length === 0; version++) watch.line(renewalLine(version));
    expect(replies.map((renewals) => renewals?.length)).toEqual([LEASE_HISTORY_MAX]);
  });

  test("keeps a renewal without a readable time", () => {
    const { world } = renewed();
    const version = String(world.api.store.revision);
    const ref = { kind: "Lease", namespace: "kube-node-lease", name: "a" } as const;
    world.patch(ref, { spec: { renewTime: null } });
    expect(historyOf(world, version).reply).toEqual([{ node: "a", renewTime: null }]);
  });

  test.each<[string, (world: VirtualWorld) => void]>([
    ["its history is compacted", (world) => world.api.faults.compact()],
    [
      "the watch is refused as too old",
      (world) => world.api.faults.add({ fault: { kind: "status", code: 410 }, when: ({ verb }) => verb === "watch" }),
    ],
    ["the server is away", (world) => world.api.faults.refuse()],
    [
      "the list is forbidden",
      (world) => world.api.faults.add({ fault: { kind: "status", code: 403 }, when: ({ verb }) => verb === "list" }),
    ],
    ["the watch is never answered", (world) => world.api.faults.add({ fault: { kind: "stall" } })],
  ])("is unknown if %s", (_why, happen) => {
    const { world, version } = renewed();
    happen(world);
    expect(historyOf(world, version).reply).toBeNull();
  });

  test("is unknown if it breaks before it has caught up", () => {
    const { world, version } = renewed();
    world.patch({ kind: "Node", namespace: "", name: "a" }, { metadata: { labels: { changed: "yes" } } });
    world.clock.after(500, () => world.api.faults.cutWatches({ how: "break" }));
    expect(historyOf(world, version)).toEqual({ reply: null, afterMs: 500 });
  });

  test("is unknown from a store that went back", () => {
    const world = new VirtualWorld();
    const backup = world.api.snapshot();
    for (const name of NODES) world.addNode({ name });
    const version = String(world.api.store.revision);
    world.api.restore(backup, { watches: "cut" });
    expect(historyOf(world, version).reply).toBeNull();
  });
});

describe("the leases of components", () => {
  const leasesOf = (world: VirtualWorld) =>
    answered<readonly number[] | null>(world, (done) => world.kube.componentLeases(done)).reply;

  test("are listed from kube-system, if ever renewed", () => {
    const world = new VirtualWorld();
    const now = Math.floor(world.clock.wallMs() / SECOND_MS) * SECOND_MS;
    renewLease(world, "kube-system", "kube-scheduler", apiMicroTime(now));
    renewLease(world, "kube-system", "apiserver-x", apiMicroTime(now - 5000));
    renewLease(world, "kube-node-lease", "a", apiMicroTime(now - 9000));
    world.patch({ kind: "Lease", namespace: "kube-system", name: "kube-scheduler" }, { spec: { renewTime: null } });
    expect(leasesOf(world)).toEqual([now - 5000]);
  });

  test("are unknown if they cannot be listed", () => {
    const world = new VirtualWorld();
    expect(leasesOf(world)).toEqual([]);
    world.api.faults.add({ fault: { kind: "status", code: 403 } });
    expect(leasesOf(world)).toBeNull();
  });
});
