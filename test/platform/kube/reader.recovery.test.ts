/** The reader on a scripted wire and virtual time: recovery after a break, and what it missed. */
import { beforeEach, describe, expect, test } from "vitest";
import { EXPIRED, list, node, ReaderStage, START, TOO_MANY } from "./reader-stage.ts";
import type { ScriptedRequest } from "./scripted-wire.ts";

let stage: ReaderStage;
beforeEach(() => {
  stage = new ReaderStage();
});

describe("after a break", () => {
  test("the watch is resumed, and stays synced since before a short break", () => {
    const watch = stage.synced();
    stage.clock.advance(30_000);
    watch.fail();
    expect(stage.seen.watch.state()).toEqual({ synced: false, since: null });
    stage.clock.advance(200);
    const again = stage.wire.next();
    expect(again.query.get("resourceVersion")).toBe("10");
    again.open();
    again.line({ type: "MODIFIED", object: node("a", "11") });
    expect(stage.seen.watch.state().synced).toBe(false);
    stage.clock.advance(500);
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: START });
    expect(stage.seen.story).toEqual(["synced", "lost", "changed a", "synced"]);
  });

  test("synced time starts again if longer than watch-blind (10 s)", () => {
    const watch = stage.synced();
    stage.clock.advance(30_000);
    watch.fail();
    for (const lostMs of [200, 400, 800, 1600, 3200, 5000]) {
      stage.clock.advance(lostMs);
      stage.wire.next().fail({ message: "connect ECONNREFUSED", sent: false });
    }
    stage.clock.advance(5000);
    stage.wire.next().open();
    stage.clock.advance(500);
    stage.wire.next().answer(200, list("10", []));
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: stage.clock.wallMs() });
  });

  test("found late, the loss begins at the last event", () => {
    const watch = stage.synced();
    watch.line({ type: "ADDED", object: node("a", "11") });
    stage.clock.advance(10_000);
    watch.fail({ timedOut: true });
    stage.clock.advance(200);
    stage.wire.next().open();
    stage.clock.advance(500);
    stage.wire.next().answer(200, list("11", []));
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: stage.clock.wallMs() });
  });

  test("a step of the wall clock moves the synced time with it", () => {
    stage.synced();
    stage.clock.advance(5000);
    stage.clock.stepWall(3_600_000);
    expect(stage.seen.watch.state().since).toBe(START + 3_600_000);
    expect(stage.seen.watch.confirmedAt()).toBe(START + 3_600_000);
  });
});

describe("a watch without an answer", () => {
  test("is lost after two seconds, since the one before ended", () => {
    const watch = stage.synced();
    stage.clock.advance(30_000);
    watch.end();
    const again = stage.wire.next();
    stage.clock.advance(1_999);
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: START });
    stage.clock.advance(1);
    expect(stage.seen.watch.state()).toEqual({ synced: false, since: null, lostAt: START + 30_000 });
    again.open();
    stage.clock.advance(500);
    stage.wire.next().answer(200, list("10", []));
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: START });
    expect(stage.seen.story).toEqual(["synced", "lost", "synced"]);
  });

  test("is lost since its list, and synced once up to date", () => {
    stage.wire.next().answer(200, list("10", []));
    const watch = stage.wire.next();
    stage.clock.advance(2_000);
    expect(stage.seen.watch.state()).toEqual({ synced: false, since: null, lostAt: START });
    watch.open();
    watch.line({ type: "ADDED", object: node("a", "11") });
    stage.clock.advance(500);
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: START });
  });

  test("is lost since the last line of a silent one before", () => {
    const watch = stage.synced();
    watch.line({ type: "ADDED", object: node("a", "11") });
    stage.clock.advance(92_000);
    expect(stage.seen.watch.state()).toEqual({ synced: false, since: null, lostAt: START });
  });

  test("is not lost if the answer comes within two seconds", () => {
    let watch = stage.synced();
    for (let times = 1; times <= 20; times++) {
      stage.clock.advance(80_000);
      watch.end();
      watch = stage.wire.next();
      stage.clock.advance(1_900);
      watch.open();
      watch.line({ type: "MODIFIED", object: node("a", String(10 + times)) });
    }
    expect(stage.seen.story.includes("lost")).toBe(false);
  });
});

describe("what was missed", () => {
  test.each([
    ["an ERROR event 410", (watch: ScriptedRequest) => watch.line({ type: "ERROR", object: EXPIRED })],
    ["a line that is not JSON", (watch: ScriptedRequest) => watch.bytes("{]\n")],
    [
      "a bookmark of the past",
      (watch: ScriptedRequest) => watch.line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } }),
    ],
  ])("is listed after %s", (_what, happen) => {
    const watch = stage.synced(node("stays", "1"), node("leaves", "2"));
    stage.clock.advance(6000);
    happen(watch);
    watch.line({ type: "ADDED", object: node("ghost", "13") });
    expect(watch.aborted).toBe(true);
    stage.clock.advance(200);
    const relist = stage.wire.next();
    expect(Object.fromEntries(relist.query)).toEqual({ limit: "500" });
    relist.answer(200, list("30", [node("stays", "1"), node("comes", "29")]));
    expect(stage.seen.story.slice(3)).toEqual(["lost", "changed stays", "changed comes", "gone leaves", "synced"]);
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: START });
    expect(stage.wire.next().query.get("resourceVersion")).toBe("30");
  });

  test("is listed when the watch is refused with 410", () => {
    const watch = stage.synced();
    stage.clock.advance(6000);
    watch.end();
    stage.wire.next().answer(410, EXPIRED);
    stage.clock.advance(200);
    expect(stage.wire.next().query.get("watch")).toBeNull();
  });

  test("is listed when the caller suspects the watch", () => {
    const watch = stage.synced(node("a", "1"));
    stage.clock.advance(20_000);
    stage.seen.watch.relist("a live read was newer");
    expect(watch.aborted).toBe(true);
    expect(stage.seen.story.at(-1)).toBe("lost");
    stage.seen.watch.relist("asked twice");
    stage.wire.next().answer(200, list("30", []));
    expect(stage.seen.story.slice(2)).toEqual(["lost", "gone a", "synced"]);
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: stage.clock.wallMs() });
    expect(stage.wire.waiting).toBe(1);
  });

  test("waits as long as a 429 asks, also if suspect (k/k#138701)", () => {
    const watch = stage.synced(node("a", "1"));
    stage.clock.advance(6000);
    watch.line({ type: "ERROR", object: EXPIRED });
    stage.clock.advance(200);
    for (let tries = 0; tries < 3; tries++) {
      stage.wire.next().answer(429, TOO_MANY, { "retry-after": "20" });
      expect(stage.seen.watch.state()).toEqual({ synced: false, since: null });
      stage.clock.advance(10_000);
      stage.seen.watch.relist("a live read was newer");
      stage.clock.advance(9_999);
      expect(stage.wire.waiting).toBe(0);
      stage.clock.advance(1);
    }
    stage.wire.next().answer(200, list("30", []));
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: stage.clock.wallMs() });
  });

  test("is counted with reason suspect, and no label names an object", async () => {
    stage.synced(node("a", "1"));
    stage.seen.watch.relist("the lease of worker-7 is newer than the watch has shown");
    const text = await stage.metrics.text();
    expect(text).toContain('vigil_kube_lists_total{resource="nodes",reason="suspect"} 1');
    expect(text).not.toContain("worker-7");
  });

  test("and was replaced is published as gone before its successor", () => {
    const watch = stage.synced(node("a", "1", "uid-old"));
    stage.clock.advance(6000);
    watch.line({ type: "ERROR", object: EXPIRED });
    stage.clock.advance(200);
    stage.wire.next().answer(200, list("30", [node("a", "25", "uid-new")]));
    expect(stage.seen.story.slice(3)).toEqual(["gone a", "changed a", "synced"]);
    expect(stage.seen.present.get("a")?.uid).toBe("uid-new");
  });
});
