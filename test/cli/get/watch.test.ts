/** What `vigil get --watch` prints and when, on virtual time: changes, deletions, and a lost source. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { NodeReport, WatchHealthReport } from "../../../protocols/ledger-reader.ts";
import { SERVICE_NAMES } from "../../../protocols/ports.ts";
import { fleetOn, LISTEN_MS, MEMBERS, type MemberReport } from "../../../services/cli/get/fleet-members.ts";
import { printerOf } from "../../../services/cli/get/get-printer.ts";
import { WATCH_PERIOD_MS, watchRows } from "../../../services/cli/get/watch-rows.ts";
import { getVerb } from "../../../services/cli/verbs/get.ts";
import { nodeDocument } from "../../../services/console/documents.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { cuttable } from "../../support/cuttable-transport.ts";
import { until } from "../../support/until.ts";
import { type FakeHost, fakeHost } from "../fake-host.ts";

const OPEN: WatchHealthReport = {
  shards: 64,
  blindShards: 0,
  oldestPulseMs: 1,
  watches: { nodes: 1, leases: 1, pods: 1 },
};
const BLIND: WatchHealthReport = { ...OPEN, blindShards: 64, oldestPulseMs: null };
const SINCE = Date.UTC(2026, 10, 20, 11, 59);

const node = (name: string, changes: Partial<NodeReport> = {}): NodeReport => ({
  name,
  readiness: "ready",
  ready: "True",
  since: SINCE,
  heartbeatAt: SINCE,
  eviction: "unmarked",
  zone: "",
  ...changes,
});

describe("get nodes --watch", () => {
  let server: Server;
  let clock: VirtualClock;
  let host: FakeHost;
  let ended: Promise<number>;
  let asked = 0;
  let nodes: readonly NodeReport[];
  let watchHealth: WatchHealthReport;
  let total: number | null;
  let path = "";

  beforeEach(async () => {
    [clock, host, asked, watchHealth, total] = [new VirtualClock(), fakeHost(), 0, OPEN, null];
    nodes = [node("n1"), node("n2")];
    server = createServer((request, response) => {
      path = request.url ?? "";
      asked++;
      response.end(JSON.stringify({ total: total ?? nodes.length, nodes, watchHealth }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(async () => {
    host.stop();
    expect(await ended).toBe(0);
    server.close();
    server.closeAllConnections();
  });

  const watch = async (...flags: string[]): Promise<void> => {
    const { port } = server.address() as AddressInfo;
    ended = getVerb(clock).start(["nodes", ...flags, `--server=http://127.0.0.1:${port}`], host);
    await answered();
  };
  /** The pending timer of the next query shows that an answer has been processed. */
  const answered = () => until("the answer was processed", () => clock.pendingTimers === 1);
  /** The output for the next answer. */
  const next = async (): Promise<string> => {
    const before = host.out().length;
    clock.advance(WATCH_PERIOD_MS);
    await answered();
    return host.out().slice(before);
  };

  test("prints all rows, then each changed row in the same columns", async () => {
    await watch("-w");
    expect(host.out()).toBe(
      [
        "NODE   READINESS   FOR    HEARTBEAT   EVICTION   ZONE",
        "n1     ready       60 s   60 s ago    unmarked   (no zone)",
        "n2     ready       60 s   60 s ago    unmarked   (no zone)\n",
      ].join("\n"),
    );
    nodes = [node("n1"), node("n2", { readiness: "unknown" }), node("n3")];
    expect(await next()).toBe(
      [
        "n2     unknown     60 s   60 s ago    unmarked   (no zone)",
        "n3     ready       60 s   60 s ago    unmarked   (no zone)\n",
      ].join("\n"),
    );
    expect(host.err()).toBe("");
  });

  test("reads every 2 s, and prints nothing for a heartbeat alone", async () => {
    await watch("--watch");
    clock.advance(WATCH_PERIOD_MS - 1);
    await turnOfTheLoop();
    expect([WATCH_PERIOD_MS, asked]).toEqual([2000, 1]);
    nodes = [node("n1", { heartbeatAt: SINCE + 1 }), node("n2")];
    clock.advance(1);
    await answered();
    expect(asked).toBe(2);
    expect(host.out().split("\n")).toHaveLength(4);
  });

  test("says that no row exists; the first one brings the heading", async () => {
    nodes = [];
    await watch("-w");
    expect([host.out(), host.err()]).toEqual(["", "vigil: there are no nodes\n"]);
    nodes = [node("longer-than-the-heading")];
    const [heading = "", row = ""] = (await next()).split("\n");
    expect(heading.indexOf("READINESS")).toBe(row.indexOf("ready"));
  });

  test("prints a deleted row once, as gone", async () => {
    await watch("-w");
    nodes = [node("n2")];
    expect(await next()).toBe("n1     gone        60 s   60 s ago    unmarked   (no zone)\n");
    expect(await next()).toBe("");
  });

  test("with --readiness=ready shows how a node left that readiness", async () => {
    await watch("-w", "--readiness=ready");
    expect(path).toBe("/api/nodes?limit=1000&readiness=ready");
    nodes = [node("n2")];
    expect(await next()).toBe("n1     not ready   60 s   60 s ago    unmarked   (no zone)\n");
  });

  test("with --output-watch-events prints the event of each row", async () => {
    await watch("-w", "--output-watch-events");
    nodes = [node("n2", { eviction: "evicted" })];
    const lines = `${host.out()}${await next()}`.split("\n").map((line) => line.split(/ {2,}/).slice(0, 3).join());
    expect(lines).toEqual([
      "EVENT,NODE,READINESS",
      "ADDED,n1,ready",
      "ADDED,n2,ready",
      "MODIFIED,n2,ready",
      "DELETED,n1,gone",
      "",
    ]);
  });

  test("prints a JSON document per changed row, none per deleted one", async () => {
    await watch("-w", "-o", "json");
    expect(host.out()).toBe(nodes.map((each) => `${JSON.stringify(nodeDocument(each), null, 2)}\n`).join(""));
    nodes = [node("n2", { readiness: "notReady" })];
    expect(JSON.parse(await next())).toEqual(nodeDocument(node("n2", { readiness: "notReady" })));
  });

  test("with --output-watch-events prints YAML events like kubectl", async () => {
    await watch("-w", "-oyaml", "--output-watch-events");
    nodes = [node("n1")];
    await next();
    expect(parseAllDocuments(host.out()).map((document) => document.toJS())).toEqual([
      { type: "ADDED", object: nodeDocument(node("n1")) },
      { type: "ADDED", object: nodeDocument(node("n2")) },
      { type: "DELETED", object: nodeDocument(node("n2")) },
    ]);
  });

  test("reports no row as deleted when the limit cuts the answer short", async () => {
    await watch("-w", "--limit=2");
    [nodes, total] = [[node("n0"), node("n1")], 3];
    expect(await next()).toBe("n0     ready       60 s   60 s ago    unmarked   (no zone)\n");
  });

  test("reports no row as deleted while not synced, and warns instead", async () => {
    await watch("-w");
    [nodes, watchHealth] = [[], BLIND];
    expect(await next()).toBe("");
    [nodes, watchHealth] = [[node("n1"), node("n2")], OPEN];
    expect(await next()).toBe("");
    expect(host.err()).toBe(
      "vigil: blind in 64 of 64 shards: no pulse from the observer yet; " +
        "no evictions are decided there, and this output may be stale\n" +
        "vigil: all shards are synced again\n",
    );
  });

  test("warns once that the console is lost, retries and goes on", async () => {
    await watch("-w");
    const { port } = server.address() as AddressInfo;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect([await next(), await next()]).toEqual(["", ""]);
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    nodes = [node("n1"), node("n2", { readiness: "unknown" })];
    expect(await next()).toContain("n2     unknown ");
    expect(host.err()).toMatch(
      /^vigil: no console at \S+ \(--server\): connect ECONNREFUSED .*; retrying\nvigil: connected again\n$/,
    );
  });
});

test("get --watch fails like get when the console does not answer at first", async () => {
  const host = fakeHost();
  const asking = getVerb(new VirtualClock()).start(["zones", "-w", "--server=http://127.0.0.1:1"], host);
  await expect(asking).rejects.toThrow("no console at http://127.0.0.1:1");
});

test.each([
  ["zones", "--server=http://127.0.0.1:1"],
  ["fleet", "--nats=nats://127.0.0.1:1"],
])("get %s --watch, interrupted before the first answer, exits with 0 and no output", async (topic, where) => {
  const host = fakeHost();
  host.stop();
  expect(await getVerb(new VirtualClock()).start([topic, "-w", where], host)).toBe(0);
  expect([host.out(), host.err()]).toEqual(["", ""]);
});

describe("the fleet, watched", () => {
  const clock = new VirtualClock({ wallMs: Date.UTC(2026, 10, 20, 12) });
  const { transport, cut } = cuttable(memoryTransport(clock));
  const host = fakeHost();
  const io = { clock, log: silentLog, metrics: createMetrics(), cluster: "c" };
  const names = { service: "fleet", mailboxMessagesMax: 100 };
  const pulses = new Set(["a", "b"]);
  const buses = new Map(["a", "b", "c"].map((member) => [member, typedBus({ ...io, ...names, member, transport })]));
  const pulse = (): void => {
    for (const member of pulses) {
      const bus = buses.get(member);
      bus?.publish("pulse.member", { member, services: [...SERVICE_NAMES], since: 0, leaving: false }, null);
    }
    clock.after(1000, pulse);
  };
  /** Advances the clock in steps, and lets the tasks of each step run. */
  const pass = async (ms: number): Promise<string[]> => {
    const before = host.out().length;
    for (let spent = 0; spent < ms; spent += 100) {
      clock.advance(100);
      await turnOfTheLoop();
    }
    return host
      .out()
      .slice(before)
      .split("\n")
      .filter(Boolean)
      .map((line) => line.split(/ {2,}/).slice(0, 3).join());
  };

  test("reports members that join or fall silent, and a lost NATS", async () => {
    const members = fleetOn(transport, { ...io, host, where: "NATS at n:4222" });
    const ask = async () => {
      const rows: MemberReport[] = await members();
      return { rows, total: rows.length, blind: null };
    };
    const form = {
      table: MEMBERS,
      output: "table",
      events: true,
      single: false,
      noHeaders: false,
      gone: "gone",
    } as const;
    const watching = watchRows(
      { table: MEMBERS, read: ask, report: printerOf(form, host).changes, begun: () => {} },
      { clock, host },
    );
    pulse();
    expect(await pass(LISTEN_MS)).toEqual([
      "EVENT,MEMBER,UP",
      expect.stringMatching(/^ADDED,a/),
      expect.stringMatching(/^ADDED,b/),
    ]);
    pulses.delete("b");
    expect(await pass(6000)).toEqual([expect.stringMatching(/^MODIFIED,a/), "DELETED,b,gone"]);
    const join = cut();
    expect(await pass(6000)).toEqual([]);
    join();
    expect(await pass(6000)).toEqual([]);
    expect(host.err()).toBe("vigil: NATS at n:4222 is lost; retrying\nvigil: connected again\n");
    host.stop();
    await watching;
  });
});
