/** One small read proves that a watch shows no less than live reads: on a scripted wire and virtual time. */
import { beforeEach, describe, expect, test } from "vitest";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { ProvenView } from "../../../protocols/ports.ts";
import { list, node, ReaderStage } from "./reader-stage.ts";
import type { ScriptedRequest } from "./scripted-wire.ts";

/** How long a proof holds, how old one in use is renewed, and how long a caller waits for one. */
const KEPT_MS = 500;
const RENEWED_MS = 250;
const WAIT_MS = 100;
/** The pause after a version that the watch did not reach. */
const PAUSE_MS = 5_000;

let stage: ReaderStage;
let watch: ScriptedRequest;
let views: (ProvenView<ObservedNode> | null)[];
beforeEach(() => {
  stage = new ReaderStage();
  watch = stage.synced(node("a", "9"));
  views = [];
});

/** Requests a proof so many times. */
function request(times: number, sentSinceMs = Number.NEGATIVE_INFINITY): void {
  for (let time = 0; time < times; time++) stage.kube.proven("nodes", sentSinceMs, (view) => views.push(view));
  stage.clock.advance(0);
}

/** What the callers were given so far: the version of node a, or null for no proof. */
function given(): (string | null)[] {
  return views.map((view) => view?.held("", "a")?.resourceVersion ?? null);
}

/** The read of the server's version. */
function look(): ScriptedRequest {
  const read = stage.wire.next();
  expect([read.path, Object.fromEntries(read.query)]).toEqual(["/api/v1/nodes", { limit: "1" }]);
  return read;
}

function shows(version: string): void {
  watch.line({ type: "MODIFIED", object: node("a", version) });
  stage.clock.advance(0);
}

test("objects that are seldom read are not proven", () => {
  for (let time = 0; time < 3; time++) {
    request(1);
    stage.clock.advance(KEPT_MS / 2);
  }
  expect([given(), stage.wire.waiting]).toEqual([[null, null, null], 0]);
});

describe("of many reads", () => {
  test("the first go live, one small read proves the watch for all others", () => {
    request(20);
    expect(given()).toEqual([null, null]);
    look().answer(200, list("12", []));
    stage.clock.advance(0);
    expect(views).toHaveLength(2);
    shows("12");
    expect([given().slice(2), stage.wire.waiting]).toEqual([Array(18).fill("12"), 0]);
  });

  test("none is answered by a watch that has not reached the version", () => {
    request(4);
    look().answer(200, list("12", []));
    shows("11");
    stage.clock.advance(WAIT_MS - 1);
    expect(views).toHaveLength(2);
    stage.clock.advance(1);
    expect(given()).toEqual([null, null, null, null]);
  });

  test("a watch that was there before the answer proves it at once", () => {
    request(3);
    shows("13");
    look().answer(200, list("12", []));
    stage.clock.advance(0);
    expect(given()).toEqual([null, null, "13"]);
  });

  test("a bookmark proves as much as an event", () => {
    request(3);
    look().answer(200, list("12", []));
    watch.line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "14" } } });
    stage.clock.advance(0);
    expect(given()).toEqual([null, null, "9"]);
  });

  test("a read that fails or hangs delays them for a moment alone", () => {
    request(3);
    look().answer(503, "not now");
    stage.clock.advance(0);
    expect(given()).toEqual([null, null, null]);
    stage.clock.advance(PAUSE_MS);
    request(4);
    look();
    stage.clock.advance(WAIT_MS);
    expect(given()).toEqual(Array(7).fill(null));
  });
});

describe("a proof", () => {
  beforeEach(() => {
    request(3);
    look().answer(200, list("12", []));
    shows("12");
  });

  test("names the instants of its read and shows what the watch shows now", () => {
    shows("15");
    stage.clock.advance(RENEWED_MS - 1);
    request(1);
    expect(given().at(-1)).toBe("15");
    expect(views.at(-1)).toMatchObject({ sentAtMs: 0, readAtMs: 0 });
    expect(views.at(-1)?.held("", "none")).toBeNull();
  });

  test("in use is renewed before it ends, and nothing waits for that", () => {
    stage.clock.advance(RENEWED_MS);
    request(1);
    expect(given().at(-1)).toBe("12");
    look().answer(200, list("20", []));
    stage.clock.advance(KEPT_MS - RENEWED_MS - 1);
    request(1);
    expect(given().at(-1)).toBe("12");
    shows("20");
    request(1);
    expect([given().at(-1), stage.wire.waiting]).toEqual(["20", 0]);
    expect(views.at(-1)).toMatchObject({ sentAtMs: RENEWED_MS });
  });

  test("does not serve a caller that needs a later read", () => {
    stage.clock.advance(10);
    request(1, 5);
    expect(views).toHaveLength(3);
    look().answer(200, list("15", []));
    shows("15");
    expect(views.at(-1)).toMatchObject({ sentAtMs: 10 });
  });

  test("does not outlast the trust in its watch", () => {
    request(1);
    const view = views.at(-1);
    watch.fail();
    request(1);
    expect([view?.held("", "a"), views.at(-1)]).toEqual([null, null]);
  });
});

describe("a watch proves nothing", () => {
  test("of a store that went back, and is checked", () => {
    request(4);
    look().answer(200, list("8", []));
    stage.clock.advance(0);
    expect(given()).toEqual([null, null, null, null]);
    look().answer(200, list("8", []));
    expect(stage.seen.watch.state().synced).toBe(false);
  });

  test("after an event that could not be read", () => {
    watch.line({ type: "MODIFIED", object: { metadata: { name: "a", resourceVersion: "11" } } });
    request(4);
    expect([given(), stage.wire.waiting]).toEqual([[null, null, null, null], 0]);
  });

  test("once it has stopped", () => {
    stage.seen.watch.stop();
    request(4);
    expect([given(), stage.wire.waiting]).toEqual([[null, null, null, null], 0]);
  });
});

test("a version that is not reached is followed by a pause", () => {
  request(3);
  look().answer(200, list("12", []));
  stage.clock.advance(KEPT_MS);
  request(4);
  expect([given(), stage.wire.waiting]).toEqual([Array(7).fill(null), 0]);
  stage.clock.advance(PAUSE_MS);
  request(3);
  expect(stage.wire.waiting).toBe(1);
});
