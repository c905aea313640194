/** One small read proves that a watch shows no less than live reads: on a scripted wire and virtual time. */
import { beforeEach, describe, expect, test } from "vitest";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { type ObjectRef, type ShownReply, Urgency } from "../../../protocols/ports.ts";
import { list, node, ReaderStage } from "./reader-stage.ts";
import type { ScriptedRequest } from "./scripted-wire.ts";

/** How long a proof holds, and how old one in use is renewed. */
const KEPT_MS = 500;
const RENEWED_MS = 250;
/** The pause after a version that the watch did not reach. */
const PAUSE_MS = 5_000;
const A: ObjectRef = { kind: "Node", namespace: "", name: "a" };
/** How many requests a new writer has in flight. */
const PLACES = 16;
const PLACE = { urgency: Urgency.status, stepsBefore: 1 } as const;

let stage: ReaderStage;
let watch: ScriptedRequest;
/** How each read was answered, in order. */
let replies: (ShownReply<ObservedNode> | "live")[];
/** Reads of the server's version that wait for their answer. */
let looks: ScriptedRequest[];
beforeEach(() => {
  stage = new ReaderStage();
  watch = stage.synced(node("a", "9"));
  replies = [];
  looks = [];
});

/** Answers live reads, and collects reads of the server's version. */
function answerReads(): void {
  while (stage.wire.waiting > 0) {
    const request = stage.wire.next();
    if (request.path === "/api/v1/nodes/a") request.answer(200, node("a", "1000"));
    else if (request.query.toString() === "limit=1") looks.push(request);
    else throw new Error(`unexpected request: ${request.request.path}`);
    stage.clock.advance(0);
  }
}

/** Reads node a so many times, and gives how that was answered: `live`, or the version that the watch shows. */
function read(times = 1, sentSinceMs = Number.NEGATIVE_INFINITY): string[] {
  const from = replies.length;
  const need = { place: PLACE, sentSinceMs };
  for (let time = 0; time < times; time++) {
    stage.kube.readShown("nodes", A, (reply) => replies.push(reply.outcome === "shown" ? reply : "live"), need);
  }
  stage.clock.advance(0);
  answerReads();
  return replies.slice(from).map((reply) => (reply === "live" ? reply : reply.object.resourceVersion));
}

/** Answers the read of the server's version. */
function present(version: string): void {
  looks.shift()?.answer(200, list(version, []));
  stage.clock.advance(0);
}

function shows(version: string): void {
  watch.line({ type: "MODIFIED", object: node("a", version) });
}

/** The view of the last read; fails if that was live. */
function lastView(): ShownReply<ObservedNode>["view"] {
  const last = replies.at(-1);
  if (last === undefined || last === "live") throw new Error("it was read live");
  return last.view;
}

test("objects that are rarely read are read live", () => {
  for (let time = 0; time < 3; time++) {
    expect(read()).toEqual(["live"]);
    stage.clock.advance(KEPT_MS / 2);
  }
  expect(looks).toEqual([]);
});

describe("of many reads", () => {
  test("one small read proves the watch for all that follow", () => {
    expect(read(5)).toEqual(Array(5).fill("live"));
    expect(looks).toHaveLength(1);
    present("12");
    expect(read()).toEqual(["live"]);
    shows("12");
    expect(read(20)).toEqual(Array(20).fill("12"));
    expect(looks).toEqual([]);
  });

  test("none is answered by a watch that has not reached the version", () => {
    read(3);
    present("12");
    shows("11");
    expect(read(2)).toEqual(["live", "live"]);
  });

  test("a watch that was there before the answer is proven by it", () => {
    read(3);
    shows("13");
    present("12");
    expect(read()).toEqual(["13"]);
  });

  test("a bookmark proves as much as an event", () => {
    read(3);
    present("12");
    watch.line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "14" } } });
    expect(read()).toEqual(["9"]);
  });

  test("an object that the watch does not show is read live", () => {
    read(3);
    present("12");
    watch.line({ type: "DELETED", object: node("a", "12") });
    expect(read()).toEqual(["live"]);
  });

  test("a slow answer proves as much as a fast one", () => {
    read(3);
    stage.clock.advance(2_000);
    present("12");
    shows("12");
    stage.clock.advance(RENEWED_MS - 1);
    expect(read()).toEqual(["12"]);
    expect(lastView()).toMatchObject({ sentAtMs: 0, readAtMs: 2_000 });
  });
});

describe("of reads that wait", () => {
  /** The requests that hold every place; the next ones wait. */
  let held: ScriptedRequest[];
  beforeEach(() => {
    const pod = { kind: "Pod", namespace: "default", name: "p" } as const;
    for (let place = 0; place < PLACES; place++) stage.kube.read(pod, () => {}, PLACE);
    held = Array.from({ length: PLACES }, () => stage.wire.next());
  });

  /** Gives every place back. */
  function release(): void {
    for (const request of held.splice(0)) request.answer(404, {});
    stage.clock.advance(0);
    answerReads();
  }

  test("the proof begins meanwhile, and none is sent", () => {
    expect(read(5)).toEqual([]);
    expect(looks).toHaveLength(1);
    present("12");
    shows("12");
    release();
    expect(replies.map((reply) => reply === "live")).toEqual(Array(5).fill(false));
  });

  test("it is renewed until they are sent, not afterwards", () => {
    read(5);
    for (const version of ["12", "20", "30"]) {
      expect(looks).toHaveLength(1);
      present(version);
      shows(version);
      stage.clock.advance(RENEWED_MS);
      answerReads();
    }
    present("30");
    release();
    expect(replies.map((reply) => reply === "live")).toEqual(Array(5).fill(false));
    stage.clock.advance(RENEWED_MS);
    answerReads();
    expect(looks).toEqual([]);
  });

  test("a version that is not reached brings a pause", () => {
    read(5);
    present("12");
    stage.clock.advance(KEPT_MS);
    read(5);
    expect(looks).toEqual([]);
    release();
    expect(replies).toEqual(Array(10).fill("live"));
  });

  test("few begin no proof", () => {
    read(2);
    expect(looks).toEqual([]);
    release();
    expect(replies).toEqual(["live", "live"]);
  });
});

describe("a proof", () => {
  beforeEach(() => {
    read(3);
    present("12");
    shows("12");
  });

  test("names the instants of its read and shows what the watch shows now", () => {
    shows("15");
    expect(read()).toEqual(["15"]);
    expect(lastView()).toMatchObject({ sentAtMs: 0, readAtMs: 0 });
    shows("16");
    expect(lastView().held("", "a")?.resourceVersion).toBe("16");
  });

  test("in use is renewed before it ends, and nothing waits for that", () => {
    stage.clock.advance(RENEWED_MS);
    expect(read()).toEqual(["12"]);
    present("20");
    stage.clock.advance(KEPT_MS - RENEWED_MS - 1);
    expect(read()).toEqual(["12"]);
    shows("20");
    expect(read()).toEqual(["20"]);
    expect(lastView()).toMatchObject({ sentAtMs: RENEWED_MS });
  });

  test("that is not renewed ends", () => {
    stage.clock.advance(KEPT_MS);
    expect(read()).toEqual(["live"]);
  });

  test("does not serve a read that must be sent later", () => {
    stage.clock.advance(10);
    expect(read(1, 5)).toEqual(["live"]);
  });

  test("does not outlast the trust in its watch", () => {
    read();
    const view = lastView();
    watch.fail();
    expect([view.held("", "a"), read()]).toEqual([null, ["live"]]);
  });
});

describe("a watch proves nothing", () => {
  test("of a store that went back, and is checked", () => {
    read(3);
    shows("11");
    present("8");
    expect(read()).toEqual(["live"]);
    present("8");
    expect(stage.seen.watch.state().synced).toBe(false);
  });

  test("after an event that could not be read", () => {
    watch.line({ type: "MODIFIED", object: { metadata: { name: "a", resourceVersion: "11" } } });
    expect([read(4), looks]).toEqual([Array(4).fill("live"), []]);
  });

  test("once it has stopped", () => {
    stage.seen.watch.stop();
    expect([read(4), looks]).toEqual([Array(4).fill("live"), []]);
  });
});

test("a version that is not reached or not known is followed by a pause", () => {
  read(3);
  present("12");
  stage.clock.advance(KEPT_MS);
  expect([read(4), looks]).toEqual([Array(4).fill("live"), []]);
  stage.clock.advance(PAUSE_MS);
  read(3);
  looks.shift()?.answer(503, "not now");
  expect([read(4), looks]).toEqual([Array(4).fill("live"), []]);
});
