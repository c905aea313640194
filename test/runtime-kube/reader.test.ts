/** The reader on a scripted wire and virtual time: what it asks, what it tells, how it comes back. */
import { beforeEach, describe, expect, test } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { VirtualClock } from "../../services/runtime/clock.virtual.ts";
import { createKube } from "../../services/runtime/kube.ts";
import { silentLog } from "../../services/runtime/log.ts";
import { createMetrics, type ReadableMetrics } from "../../services/runtime/metrics.ts";
import { type Seen, seeNodes, seePods } from "../support/kube-probe.ts";
import { type ScriptedRequest, ScriptedWire } from "./scripted-wire.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
/** Close to 1, so that every jitter is nearly its ceiling. */
const CHANCE = 0.999;

const node = (name: string, version: string, uid = `uid-${name}`) => ({
  metadata: { name, uid, resourceVersion: version, creationTimestamp: "2025-12-31T00:00:00Z" },
});
const list = (version: string, items: unknown[], more: Record<string, unknown> = {}) => ({
  kind: "NodeList",
  apiVersion: "v1",
  metadata: { resourceVersion: version, ...more },
  items,
});
const expired = {
  kind: "Status",
  status: "Failure",
  reason: "Expired",
  message: "too old resource version",
  code: 410,
};

let clock: VirtualClock;
let wire: ScriptedWire;
let metrics: ReadableMetrics;
let seen: Seen<"nodes">;

beforeEach(() => {
  clock = new VirtualClock({ wallMs: START });
  wire = new ScriptedWire();
  metrics = createMetrics();
  seen = seeNodes(kube());
});

function kube(log = silentLog) {
  return createKube({ wire, clock, random: () => CHANCE, log, metrics, profile: STANDARD_PROFILE });
}

/** Answers the first list and opens the watch behind it. */
function synced(...items: unknown[]): ScriptedRequest {
  wire.next().answer(200, list("10", items));
  const watch = wire.next();
  watch.open();
  return watch;
}

describe("the first list", () => {
  test("asks for pages of 500 from the server's cache, and follows them to the end", () => {
    const first = wire.next();
    expect([first.path, Object.fromEntries(first.query)]).toEqual([
      "/api/v1/nodes",
      { limit: "500", resourceVersion: "0" },
    ]);
    first.answer(200, list("10", [node("a", "1")], { continue: "more" }));
    const second = wire.next();
    expect(Object.fromEntries(second.query)).toEqual({ limit: "500", continue: "more" });
    expect(seen.story).toEqual(["changed a"]);
    second.answer(200, list("10", [node("b", "2")]));
    expect(seen.story).toEqual(["changed a", "changed b", "synced"]);
    expect(seen.watch.state()).toEqual({ synced: true, since: START });
  });

  test("leads to a watch with bookmarks from its resourceVersion, to be ended after 5 to 10 minutes", () => {
    wire.next().answer(200, list("10", []));
    const { path, query } = wire.next();
    const { timeoutSeconds, ...rest } = Object.fromEntries(query);
    expect([path, rest]).toEqual([
      "/api/v1/nodes",
      { watch: "true", allowWatchBookmarks: "true", resourceVersion: "10" },
    ]);
    expect(Number(timeoutSeconds)).toBe(599);
  });

  test("of pods leaves out those that are on no node, and so does their watch", () => {
    seePods(kube());
    wire.next();
    const pods = wire.next();
    expect([pods.path, pods.query.get("fieldSelector")]).toEqual(["/api/v1/pods", "spec.nodeName!="]);
    pods.answer(200, list("10", []));
    expect(wire.next().query.get("fieldSelector")).toBe("spec.nodeName!=");
  });

  test("that is refused is tried again for ever, each time a little later up to 5 s", () => {
    const times: number[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      wire.next().answer(403, { kind: "Status", reason: "Forbidden", message: "no", code: 403 });
      const from = clock.monotonicMs();
      while (wire.waiting === 0) clock.advance(1);
      times.push(clock.monotonicMs() - from);
    }
    expect(times).toEqual([200, 400, 800, 1599, 3197, 4995, 4995, 4995]);
    expect(seen.watch.state()).toEqual({ synced: false, since: null });
  });

  test("whose pages outlive the server's history begins again without pages", () => {
    wire.next().answer(200, list("10", [node("a", "1")], { continue: "more" }));
    wire.next().answer(410, expired);
    clock.advance(200);
    const again = wire.next();
    expect(again.query.get("limit")).toBeNull();
    again.answer(200, list("12", [node("b", "2")]));
    expect(seen.story).toEqual(["changed a", "changed b", "gone a", "synced"]);
  });

  test("that stays silent is given up", () => {
    clock.advance(60_000);
    expect(wire.next().aborted).toBe(true);
    clock.advance(200);
    expect(wire.waiting).toBe(1);
  });
});

describe("a watch", () => {
  test("tells what is added, changed and deleted", () => {
    const watch = synced();
    watch.line({ type: "ADDED", object: node("a", "11") });
    watch.line({ type: "MODIFIED", object: node("a", "12") });
    expect(seen.present.get("a")?.resourceVersion).toBe("12");
    watch.line({ type: "DELETED", object: node("a", "13") });
    expect(seen.story).toEqual(["synced", "changed a", "changed a", "gone a"]);
  });

  test("cut in the middle of a line goes on with it", () => {
    const watch = synced();
    const line = `${JSON.stringify({ type: "ADDED", object: node("a", "11") })}\n`;
    for (const letter of line) watch.bytes(letter);
    expect(seen.present.has("a")).toBe(true);
  });

  test("that ends in good order is opened again at once from where it was, and nothing is said", () => {
    const watch = synced();
    watch.line({ type: "ADDED", object: node("a", "11") });
    watch.line({ type: "BOOKMARK", object: { kind: "Node", metadata: { resourceVersion: "20" } } });
    clock.advance(80_000);
    watch.end();
    const again = wire.next();
    expect(again.query.get("resourceVersion")).toBe("20");
    again.open();
    clock.advance(1000);
    expect(seen.story).toEqual(["synced", "changed a"]);
    expect(seen.watch.state()).toEqual({ synced: true, since: START });
  });

  test("that a server closes at once each time is not opened more than a few times a minute", () => {
    synced().end();
    for (let elapsed = 0; elapsed < 60_000; elapsed += 10) {
      clock.advance(10);
      if (wire.waiting === 0) continue;
      const again = wire.next();
      again.open();
      again.line({ type: "MODIFIED", object: node("a", String(100 + elapsed)) });
      again.end();
    }
    expect(wire.requests.length).toBeLessThan(20);
  });

  test("that brings nothing for 90 s is opened again, without a word", () => {
    const watch = synced();
    clock.advance(89_000);
    watch.bytes("\n");
    clock.advance(89_999);
    expect(watch.aborted).toBe(false);
    clock.advance(1);
    expect(watch.aborted).toBe(true);
    wire.next().open();
    clock.advance(1000);
    expect(seen.story).toEqual(["synced"]);
  });

  test("refused with 429 is asked for again when the server said, not before", () => {
    const watch = synced();
    clock.advance(6000);
    watch.end();
    wire.next().answer(429, "slow down", { "retry-after": "7" });
    clock.advance(6999);
    expect(wire.waiting).toBe(0);
    clock.advance(1);
    expect(wire.waiting).toBe(1);
  });

  test("that stops tells nothing more and lets its request go", () => {
    const watch = synced();
    seen.watch.stop();
    expect(watch.aborted).toBe(true);
    clock.advance(600_000);
    expect([wire.waiting, seen.story]).toEqual([0, ["synced"]]);
  });

  test("goes on when its listener throws, and counts that", async () => {
    let calls = 0;
    const throwing = (): never => {
      calls++;
      throw new Error("listener is broken");
    };
    kube().watch("nodes", { changed: throwing, gone: throwing, state: throwing });
    wire.next();
    wire.next().answer(200, list("10", [node("a", "1")]));
    const watch = wire.next();
    watch.open();
    watch.line({ type: "DELETED", object: node("a", "11") });
    expect(calls).toBe(3);
    expect(await metrics.text()).toContain('vigil_kube_unreadable_total{resource="nodes",field="listener"} 3');
  });
});

describe("after a break", () => {
  test("the watch is resumed, and the sight goes on where it was when that was soon", () => {
    const watch = synced();
    clock.advance(30_000);
    watch.fail();
    expect(seen.watch.state()).toEqual({ synced: false, since: null });
    clock.advance(200);
    const again = wire.next();
    expect(again.query.get("resourceVersion")).toBe("10");
    again.open();
    again.line({ type: "MODIFIED", object: node("a", "11") });
    expect(seen.watch.state().synced).toBe(false);
    clock.advance(500);
    expect(seen.watch.state()).toEqual({ synced: true, since: START });
    expect(seen.story).toEqual(["synced", "lost", "changed a", "synced"]);
  });

  test("the sight starts anew when it was lost for longer than watch-blind (10 s)", () => {
    const watch = synced();
    clock.advance(30_000);
    watch.fail();
    for (const lostMs of [200, 400, 800, 1600, 3200, 5000]) {
      clock.advance(lostMs);
      wire.next().fail({ message: "connect ECONNREFUSED", sent: false });
    }
    clock.advance(5000);
    wire.next().open();
    clock.advance(500);
    expect(seen.watch.state()).toEqual({ synced: true, since: clock.wallMs() });
  });

  test("that nobody told of, the sight was lost with the last event", () => {
    const watch = synced();
    watch.line({ type: "ADDED", object: node("a", "11") });
    clock.advance(10_000);
    watch.fail({ timedOut: true });
    clock.advance(200);
    wire.next().open();
    clock.advance(500);
    expect(seen.watch.state()).toEqual({ synced: true, since: clock.wallMs() });
  });

  test("a step of the wall clock moves the start of the sight with it", () => {
    synced();
    clock.advance(5000);
    clock.stepWall(3_600_000);
    expect(seen.watch.state().since).toBe(START + 3_600_000);
    expect(seen.watch.confirmedAt()).toBe(START + 3_600_000);
  });
});

describe("what was missed", () => {
  test.each([
    ["an ERROR event 410", (watch: ScriptedRequest) => watch.line({ type: "ERROR", object: expired })],
    ["a line that is not JSON", (watch: ScriptedRequest) => watch.bytes("{]\n")],
    [
      "a bookmark of the past",
      (watch: ScriptedRequest) => watch.line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } }),
    ],
  ])("is listed anew after %s", (_what, happen) => {
    const watch = synced(node("stays", "1"), node("leaves", "2"));
    clock.advance(6000);
    happen(watch);
    watch.line({ type: "ADDED", object: node("ghost", "13") });
    expect(watch.aborted).toBe(true);
    clock.advance(200);
    const relist = wire.next();
    expect(Object.fromEntries(relist.query)).toEqual({ limit: "500" });
    relist.answer(200, list("30", [node("stays", "1"), node("comes", "29")]));
    expect(seen.story.slice(3)).toEqual(["lost", "changed stays", "changed comes", "gone leaves", "synced"]);
    expect(seen.watch.state()).toEqual({ synced: true, since: START });
    expect(wire.next().query.get("resourceVersion")).toBe("30");
  });

  test("is listed anew when the watch is refused with 410", () => {
    const watch = synced();
    clock.advance(6000);
    watch.end();
    wire.next().answer(410, expired);
    clock.advance(200);
    expect(wire.next().query.get("watch")).toBeNull();
  });

  test("is listed anew when the caller distrusts the watch, which was then last good with its last event", () => {
    const watch = synced(node("a", "1"));
    clock.advance(20_000);
    seen.watch.relist("a live read was newer");
    expect(watch.aborted).toBe(true);
    expect(seen.story.at(-1)).toBe("lost");
    seen.watch.relist("asked twice");
    wire.next().answer(200, list("30", []));
    expect(seen.story.slice(2)).toEqual(["lost", "gone a", "synced"]);
    expect(seen.watch.state()).toEqual({ synced: true, since: clock.wallMs() });
    expect(wire.waiting).toBe(1);
  });

  test("and has been replaced under the same name is told as gone before its successor is told", () => {
    const watch = synced(node("a", "1", "uid-old"));
    clock.advance(6000);
    watch.line({ type: "ERROR", object: expired });
    clock.advance(200);
    wire.next().answer(200, list("30", [node("a", "25", "uid-new")]));
    expect(seen.story.slice(3)).toEqual(["gone a", "changed a", "synced"]);
    expect(seen.present.get("a")?.uid).toBe("uid-new");
  });
});

describe("an object that cannot be read", () => {
  test("is dropped and counted, and the next one is told", async () => {
    const watch = synced();
    watch.line({ type: "ADDED", object: { metadata: { name: "nameless" } } });
    watch.line({ type: "ADDED", object: "nonsense" });
    watch.line({ type: "ADDED", object: node("a", "12") });
    expect(seen.story).toEqual(["synced", "changed a"]);
    const text = await metrics.text();
    expect(text).toContain('vigil_kube_unreadable_total{resource="nodes",field="metadata.uid"} 1');
    expect(text).toContain('vigil_kube_unreadable_total{resource="nodes",field="metadata.name"} 1');
  });
});
