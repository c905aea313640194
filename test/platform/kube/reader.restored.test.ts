/** The reader on a scripted wire and virtual time: a watch that is open, and a server that is not what it was. */
import { beforeEach, describe, expect, test } from "vitest";
import { list, node, ReaderStage, START, TOO_MANY } from "./reader-stage.ts";
import type { ScriptedRequest } from "./scripted-wire.ts";

/** How long a watch stays open without a word before it is reopened. */
const SILENCE_MS = 90_000;
/** How long a reopened watch may take to show something. */
const SETTLE_MS = 500;
/** The longest first pause after a failure. */
const PAUSE_MS = 200;

let stage: ReaderStage;
beforeEach(() => {
  stage = new ReaderStage();
});

/** The next request, which reads the server's version. */
function versionRead(): ScriptedRequest {
  const read = stage.wire.next();
  expect(Object.fromEntries(read.query)).toEqual({ limit: "1" });
  return read;
}

/** A watch that was opened again after one that ended in order. */
function reopened(watch: ScriptedRequest): ScriptedRequest {
  stage.clock.advance(10_000);
  watch.end();
  const again = stage.wire.next();
  again.open();
  return again;
}

describe("a reopened watch", () => {
  test("that shows something newer at once costs no request", () => {
    const again = reopened(stage.synced());
    again.line({ type: "ADDED", object: node("a", "11") });
    stage.clock.advance(10_000);
    expect([stage.wire.waiting, stage.seen.story]).toEqual([0, ["synced", "changed a"]]);
  });

  test("that shows nothing costs one read of the server's version", () => {
    reopened(stage.synced());
    stage.clock.advance(SETTLE_MS);
    versionRead().answer(200, list("10", []));
    stage.clock.advance(60_000);
    expect([stage.wire.waiting, stage.seen.story]).toEqual([0, ["synced"]]);
  });

  test("of a store that went back is not synced until all is listed", async () => {
    const again = reopened(stage.synced(node("stays", "9"), node("gone", "8")));
    stage.clock.advance(SETTLE_MS);
    versionRead().answer(200, list("5", []));
    expect(again.aborted).toBe(true);
    expect(stage.seen.watch.state().synced).toBe(false);
    const relist = stage.wire.next();
    expect(relist.query.get("resourceVersion")).toBeNull();
    relist.answer(200, list("6", [node("stays", "3")]));
    expect(stage.seen.present.get("stays")?.resourceVersion).toBe("3");
    expect(stage.seen.story.slice(3)).toEqual(["lost", "changed stays", "gone gone", "synced"]);
    expect(stage.wire.next().query.get("resourceVersion")).toBe("6");
    expect(await stage.metrics.text()).toContain('vigil_kube_lists_total{resource="nodes",reason="restored"} 1');
  });

  test("is not synced while the version is not read", () => {
    const again = reopened(stage.synced());
    stage.clock.advance(SETTLE_MS);
    versionRead().answer(429, TOO_MANY, { "retry-after": "7" });
    expect(stage.seen.watch.state().synced).toBe(false);
    stage.clock.advance(7_000);
    versionRead().answer(200, list("12", []));
    expect([stage.seen.watch.state(), again.aborted]).toEqual([{ synced: true, since: START }, false]);
  });

  test("that then shows something newer is synced without that answer", () => {
    const again = reopened(stage.synced());
    stage.clock.advance(SETTLE_MS);
    versionRead().answer(503, "not now");
    again.line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "11" } } });
    expect(stage.seen.watch.state().synced).toBe(true);
    stage.clock.advance(60_000);
    expect(stage.wire.waiting).toBe(0);
  });
});

describe("an open and silent watch", () => {
  /** The watch was reopened once after a silence, and is silent again. */
  function silentTwice(): void {
    const watch = stage.synced(node("a", "9"));
    stage.clock.advance(10_000);
    watch.line({ type: "MODIFIED", object: node("a", "11") });
    stage.clock.advance(SILENCE_MS);
    stage.wire.next().open();
    stage.clock.advance(SETTLE_MS);
    versionRead().answer(200, list("20", []));
    expect(stage.wire.waiting).toBe(0);
    stage.clock.advance(SILENCE_MS - SETTLE_MS);
    stage.wire.next().open();
    stage.clock.advance(SETTLE_MS);
  }

  test("is verified by a list after three minutes", () => {
    silentTwice();
    versionRead().answer(200, list("30", []));
    const relist = stage.wire.next();
    expect(Object.fromEntries(relist.query)).toEqual({ limit: "500" });
    expect(stage.seen.watch.state().synced).toBe(true);
    relist.answer(200, list("30", [node("a", "25")]));
    expect(stage.seen.story.slice(3)).toEqual(["changed a", "lost", "synced"]);
    expect(stage.seen.watch.state().since).toBe(stage.clock.wallMs());
  });

  test("stays synced if nothing was missed", () => {
    silentTwice();
    versionRead().answer(200, list("30", []));
    stage.wire.next().answer(200, list("30", [node("a", "11")]));
    expect(stage.seen.story.slice(3)).toEqual(["changed a"]);
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: START });
  });

  test("needs no list while the server has nothing newer", () => {
    const watch = stage.synced();
    let open = watch;
    for (let count = 0; count < 10; count++) {
      stage.clock.advance(SILENCE_MS);
      expect(open.aborted).toBe(true);
      open = stage.wire.next();
      open.open();
      stage.clock.advance(SETTLE_MS);
      versionRead().answer(200, list("10", []));
    }
    expect(stage.wire.waiting).toBe(0);
  });

  test("is verified too if its bookmarks stand still", () => {
    const watch = stage.synced(node("a", "9"));
    for (const _ of [1, 2, 3]) {
      expect(stage.wire.waiting).toBe(0);
      stage.clock.advance(60_000);
      watch.line({ type: "BOOKMARK", object: { metadata: { resourceVersion: "10" } } });
    }
    versionRead().answer(200, list("30", []));
    stage.wire.next().answer(200, list("30", [node("a", "25")]));
    expect(stage.seen.present.get("a")?.resourceVersion).toBe("25");
  });

  test("with bookmarks that move on costs nothing", () => {
    const watch = stage.synced();
    for (let minute = 1; minute <= 20; minute++) {
      stage.clock.advance(60_000);
      watch.line({ type: "BOOKMARK", object: { metadata: { resourceVersion: String(10 + minute) } } });
    }
    expect([stage.wire.waiting, stage.seen.story]).toEqual([0, ["synced"]]);
  });
});

describe("an older list", () => {
  const relistBegins = (): ScriptedRequest => {
    const watch = stage.synced(node("a", "9"));
    watch.line({ type: "MODIFIED", object: node("a", "20") });
    stage.seen.watch.relist("a live read was newer");
    return stage.wire.next();
  };

  test("is not shown, and is requested again", () => {
    relistBegins().answer(200, list("15", [node("a", "9"), node("b", "15")]));
    expect(stage.seen.story.slice(2)).toEqual(["changed a", "lost"]);
    stage.clock.advance(PAUSE_MS);
    versionRead().answer(200, list("21", []));
    stage.wire.next().answer(200, list("21", [node("a", "20")]));
    expect(stage.seen.present.get("a")?.resourceVersion).toBe("20");
    expect(stage.seen.watch.state().synced).toBe(true);
  });

  test("is shown once the server's version is proved old", () => {
    relistBegins().answer(200, list("15", [node("b", "15")]));
    stage.clock.advance(PAUSE_MS);
    versionRead().answer(200, list("16", []));
    stage.wire.next().answer(200, list("16", [node("b", "15")]));
    expect([...stage.seen.present.keys()]).toEqual(["b"]);
  });

  test("is refused by the process's next watch too", () => {
    relistBegins().answer(200, list("21", [node("a", "20")]));
    stage.seen.watch.stop();
    stage.wire.next();
    const seen: string[] = [];
    stage.kube.watch("nodes", { changed: ({ node: name }) => seen.push(name), gone: () => {}, state: () => {} });
    const first = stage.wire.next();
    expect(Object.fromEntries(first.query)).toEqual({ limit: "500" });
    first.answer(200, list("12", [node("old", "12")]));
    expect(seen).toEqual([]);
  });

  test("is not shown after a list that was cut off either", () => {
    const first = stage.wire.next();
    first.open();
    first.bytes('{"kind":"NodeList","metadata":{"resourceVersion":"10"},"items":[');
    first.bytes(`${JSON.stringify(node("a", "9"))},`);
    first.fail();
    expect(stage.seen.story).toEqual(["changed a"]);
    stage.clock.advance(PAUSE_MS);
    const second = stage.wire.next();
    expect(Object.fromEntries(second.query)).toEqual({ limit: "500" });
    second.answer(200, list("4", [node("b", "4")]));
    expect(stage.seen.story).toEqual(["changed a"]);
  });
});

test("a store that went back makes every open watch read its version", () => {
  const nodes = stage.synced();
  stage.kube.watch("leases", { changed: () => {}, gone: () => {}, state: () => {} });
  stage.wire.next().answer(200, list("10", []));
  stage.wire.next().open();
  reopened(nodes);
  stage.clock.advance(SETTLE_MS);
  versionRead().answer(200, list("5", []));
  const [ofLeases, relist] = [stage.wire.next(), stage.wire.next()];
  expect([ofLeases.path, relist.path]).toEqual([
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    "/api/v1/nodes",
  ]);
  ofLeases.answer(200, list("5", []));
  expect(stage.wire.next().path).toBe(ofLeases.path);
});
