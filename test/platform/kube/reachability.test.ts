/** How a process measures reachability, and its requests while it is cut off. */
import { describe, expect, test } from "vitest";
import { type ReadReply, Urgency, type WriteReply } from "../../../protocols/ports.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { ApiReachability } from "../../../services/platform/kube/transport/reachability.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { API_CUTS, ApiPath } from "../../sim/api-path.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { Standstill } from "../../support/standstill.ts";
import { VirtualWorld } from "../../support/virtual-world.ts";

const NODE = { kind: "Node", namespace: "", name: "node-1" } as const;
const PATCH = { ref: NODE, urgency: Urgency.status, verb: "patch", patch: "strategic", body: {} } as const;

/** One process before an API server with a node. */
function processOn() {
  const world = new VirtualWorld();
  world.addNode({ name: "node-1", statusPeriodMs: null });
  const still = new Standstill(world.clock);
  const { clock } = still;
  const [log, metrics] = [recordingLog(), createMetrics()];
  const path = new ApiPath({ clock: world.clock, random: world.random("path"), count: () => {} });
  const requests: string[] = [];
  const wire = still.wire({
    send: (request, exchange) => {
      requests.push(`${request.method} ${request.path}`);
      return path.over(world.api.wire).send(request, exchange);
    },
  });
  const io = { clock, log, metrics, profile: world.profile };
  const reachability = new ApiReachability({ ...io, wire });
  const kube = createKube({ ...io, wire: reachability.wire, random: world.random("kube"), reachability });
  return { world, still, path, requests, reachability, kube, log };
}

const able = ({ reachability }: ReturnType<typeof processOn>) => reachability.report().able;

test("a process that sends nothing sends a small read each three seconds", () => {
  const { world, requests } = processOn();
  world.advance(30_000);
  expect(requests).toEqual(Array.from({ length: 10 }, () => "GET /api/v1/namespaces/kube-system"));
});

test("a process whose requests fail probes each second", () => {
  const { world, path, requests } = processOn();
  path.sever("refused");
  world.advance(3_000);
  requests.length = 0;
  world.advance(10_000);
  expect(requests.length).toBe(10);
});

test("an idle process gets an answer at least every three seconds", () => {
  const { world, requests, kube } = processOn();
  world.advance(2_900);
  kube.read(NODE, () => {});
  world.advance(3_100);
  expect(requests.at(-1)).toBe("GET /api/v1/namespaces/kube-system");
});

test("a process whose requests are answered sends no probe", () => {
  const { world, requests, kube } = processOn();
  for (let step = 0; step < 20; step++) {
    world.advance(500);
    kube.read(NODE, () => {});
  }
  expect(requests.filter((request) => request.endsWith("kube-system"))).toEqual([]);
});

describe.each(API_CUTS)("cut off (%s)", (cut) => {
  test("an idle process is unable in 10 to 13 s, able 5 s after repair", () => {
    const process = processOn();
    const { world, path } = process;
    world.advance(5_500);
    const repair = path.sever(cut);
    world.advance(9_999);
    expect(able(process)).toBe(true);
    world.advance(3_001);
    expect(able(process)).toBe(false);
    world.advance(60_000);
    repair("break");
    world.advance(4_999);
    expect(able(process)).toBe(false);
    world.advance(1_500);
    expect(able(process)).toBe(true);
  });

  test("reads and writes fail at once, except one at a time", () => {
    const { world, path, kube } = processOn();
    path.sever(cut);
    world.advance(13_000);
    const replies: (ReadReply | WriteReply)[] = [];
    for (let index = 0; index < 50; index++) {
      kube.read(NODE, (reply) => replies.push(reply));
      kube.write(PATCH, (reply) => replies.push(reply));
    }
    world.advance(1);
    // Writes of one object wait for the one before them.
    expect(replies.length).toBeGreaterThanOrEqual(99);
    expect(new Set(replies.map(({ outcome }) => outcome))).toEqual(new Set(["failed"]));
  });
});

test("waiting requests fail when the process becomes unable", () => {
  const { world, path, kube } = processOn();
  path.sever("silent");
  world.advance(5_000);
  const failedMs: number[] = [];
  for (let index = 0; index < 100; index++) kube.read(NODE, () => failedMs.push(world.clock.monotonicMs()));
  world.advance(8_000);
  // The first sixteen are in flight and have ten seconds.
  expect(failedMs.length).toBe(84);
  world.advance(2_000);
  expect(failedMs.length).toBe(100);
});

test("requests are sent again after the first answer, before the process is able", () => {
  const process = processOn();
  const { world, path, kube } = process;
  const repair = path.sever("refused");
  world.advance(20_000);
  repair("break");
  world.advance(1_000);
  const outcomes: string[] = [];
  for (let index = 0; index < 5; index++) kube.read(NODE, ({ outcome }) => outcomes.push(outcome));
  world.advance(10);
  expect([able(process), outcomes]).toEqual([false, ["ok", "ok", "ok", "ok", "ok"]]);
});

test("an open watch on a dead link counts as lost, and is reopened", () => {
  const { world, path, kube } = processOn();
  const states: { synced: boolean; lostAt?: number | undefined }[] = [];
  const watch = kube.watch("nodes", { changed: () => {}, gone: () => {}, state: (state) => states.push(state) });
  world.advance(30_500);
  const repair = path.sever("silent");
  const cutAt = world.clock.wallMs();
  world.advance(13_000);
  expect(states.at(-1)).toMatchObject({ synced: false });
  expect(Math.abs((states.at(-1)?.lostAt ?? 0) - cutAt)).toBeLessThanOrEqual(3_000);
  repair("break");
  world.advance(6_000);
  expect(watch.state().synced).toBe(true);
});

test("401 and 5xx make a process unable, 403 and 429 do not", () => {
  for (const [code, expected] of [
    [401, false],
    [403, true],
    [429, true],
    [500, false],
    [503, false],
    [504, false],
  ] as const) {
    const process = processOn();
    process.world.api.faults.add({ fault: { kind: "status", code } });
    process.world.advance(13_000);
    expect([code, able(process)]).toEqual([code, expected]);
  }
});

test("a standstill with a request in flight does not make a process unable", () => {
  const process = processOn();
  const { world, still, path } = process;
  path.slow({ get: 900 });
  world.advance(5_500);
  still.begin();
  world.advance(65_000);
  still.end();
  world.advance(100);
  expect(able(process)).toBe(true);
  world.advance(20_000);
  expect(able(process)).toBe(true);
});

test("a stopped process sends no probe", () => {
  const { world, path, reachability, requests } = processOn();
  path.slow({ get: 900 });
  world.advance(3_500);
  path.sever("refused");
  reachability.stop();
  const sent = requests.length;
  world.advance(60_000);
  expect(requests.length).toBe(sent);
});
