/** Runs two processes of the program on one real nats-server, and lists the fleet. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { runCommandLine } from "../../services/cli/command-line.ts";
import type { MemberReport } from "../../services/cli/get/fleet-members.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { connectNats } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { type HttpFront, listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { fakeHost } from "./fake-host.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "vigil-fleet-"));
const KUBECONFIG = join(FOLDER, "kubeconfig");
const ALL_SHARDS = SHARD_COUNT * SERVICE_NAMES.length;

describeWithNats("vigil run on NATS", () => {
  let front: HttpFront;
  let nats: NatsServer;
  beforeAll(async () => {
    front = await listen(new ApiServer({ clock: realClock(), random: systemRandom }), { port: 0 });
    nats = await startNatsServer();
    writeFileSync(KUBECONFIG, kubeconfigOf("c", front.url));
  });
  afterAll(async () => {
    await nats.stop();
    await front.close();
    rmSync(FOLDER, { recursive: true });
  });

  const start = async (member: string) => {
    const flags = [`--kubeconfig=${KUBECONFIG}`, `--nats=${nats.url}`, `--member=${member}`, "--log-format=json"];
    const vigil = new VigilProcess(["run", ...flags]);
    await vigil.untilLogged("running");
    return vigil;
  };
  const fleet = async (): Promise<MemberReport[]> => {
    const host = fakeHost();
    expect(await runCommandLine(["get", "fleet", `--nats=${nats.url}`, "--output=json"], host)).toBe(0);
    return JSON.parse(host.out()).items;
  };

  test("a cluster without members is named", async () => {
    const host = fakeHost();
    expect(await runCommandLine(["get", "fleet", `--nats=${nats.url}`, "--cluster=other"], host)).toBe(0);
    expect(host.err()).toMatch(/^vigil: there are no members of --cluster=other; .*\n$/);
  });

  test("two processes share every shard; when one ends the other takes over", async () => {
    const [first, second] = await Promise.all([start("a"), start("b")]);
    let shares: (readonly [string, number])[] = [];
    // A member whose pulse is late on a busy machine is missing from the fleet for a moment.
    const members = async (): Promise<string> => {
      shares = (await fleet()).map(({ member, shards }) => [member, shards]);
      return shares.map(([member]) => member).join();
    };
    await until("both are heard", async () => (await members()) === "a,b");
    for (const [, shards] of shares) expect(shards).toBeGreaterThan(0);
    expect(shares.reduce((sum, [, shards]) => sum + shards, 0)).toBe(ALL_SHARDS);
    first.signal("SIGTERM");
    expect(await first.exited()).toBe(0);
    await until("the other is heard", async () => (await members()) !== "");
    expect(shares).toEqual([["b", ALL_SHARDS]]);
    second.signal("SIGTERM");
    expect(await second.exited()).toBe(0);
    expect(await fleet()).toEqual([]);
  });

  test("a member that leaves is not shown, and the others own its shards", async () => {
    const [clock, log, metrics] = [realClock(), silentLog, createMetrics()];
    const transport = await connectNats({ servers: [nats.url], name: "members", clock, log, metrics });
    const names = { service: "fleet", cluster: "default" };
    const busOf = (member: string) =>
      typedBus({ transport, ...names, member, clock, log, metrics, mailboxMessagesMax: 100 });
    const buses = new Map(["stays", "leaves"].map((member) => [member, busOf(member)]));
    const pulse = (member: string, leaving: boolean) =>
      buses.get(member)?.publish("pulse.member", { member, services: [...SERVICE_NAMES], since: 0, leaving }, null);
    const talk = setInterval(() => {
      pulse("stays", false);
      pulse("leaves", false);
      pulse("leaves", true);
    }, 50);
    const members = await fleet();
    clearInterval(talk);
    await transport.close();
    expect(members.map(({ member, shards }) => [member, shards])).toEqual([["stays", ALL_SHARDS]]);
  });

  test("same-named members of another Kubernetes cluster are listed and counted apart", async () => {
    const [clock, log, metrics] = [realClock(), silentLog, createMetrics()];
    const transport = await connectNats({ servers: [nats.url], name: "members", clock, log, metrics });
    const names = { service: "fleet", member: "a", cluster: "mixed" };
    const bus = typedBus({ transport, ...names, clock, log, metrics, mailboxMessagesMax: 100 });
    const talk = setInterval(() => {
      for (const clusterUid of ["east", "west"]) {
        bus.publish(
          "pulse.member",
          { member: "a", services: [...SERVICE_NAMES], since: 0, leaving: false, clusterUid },
          null,
        );
      }
    }, 50);
    const host = fakeHost();
    await runCommandLine(["get", "fleet", `--nats=${nats.url}`, "--cluster=mixed", "--output=json"], host);
    clearInterval(talk);
    await transport.close();
    const shares = JSON.parse(host.out()).items.map(({ member, clusterUid, shards }: MemberReport) => [
      member,
      clusterUid,
      shards,
    ]);
    expect(shares).toEqual([
      ["a", "east", ALL_SHARDS],
      ["a", "west", ALL_SHARDS],
    ]);
    expect(host.err()).toMatch(/^vigil: members of 2 Kubernetes clusters share this NATS and --cluster: .*\n$/);
  });

  test("a user that may not subscribe gets a failure, not an empty fleet", async () => {
    const denied = "{ user: u, password: p, permissions { subscribe { deny: '>' } } }";
    const server = await startNatsServer({ config: `authorization { users: [${denied}] }` });
    const host = fakeHost();
    const address = server.url.replace("//", "//u:p@");
    expect(await runCommandLine(["get", "fleet", `--nats=${address}`], host)).toBe(1);
    expect(host.err()).toMatch(
      /^vigil: NATS forbids our role the subscription on \S+pulse\.member\S+: use the inspector's key/,
    );
    await server.stop();
  });

  test("a process that cannot reach NATS waits, and exits with 0 when it is stopped", async () => {
    const vigil = new VigilProcess(["run", `--kubeconfig=${KUBECONFIG}`, "--nats=127.0.0.1:1", "--log-format=json"]);
    await vigil.untilLogged("NATS at 127.0.0.1:1 cannot be reached");
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
  });
});
