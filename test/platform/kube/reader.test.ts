/** The reader on a scripted wire and virtual time: its requests and what it publishes. */
import { beforeEach, describe, expect, test } from "vitest";
import { seePods } from "../../support/kube-probe.ts";
import { EXPIRED, list, node, ReaderStage, START } from "./reader-stage.ts";

let stage: ReaderStage;
beforeEach(() => {
  stage = new ReaderStage();
});

describe("the first list", () => {
  test("requests pages of 500 from the server's cache, to the end", () => {
    const first = stage.wire.next();
    expect([first.path, Object.fromEntries(first.query)]).toEqual([
      "/api/v1/nodes",
      { limit: "500", resourceVersion: "0" },
    ]);
    first.answer(200, list("10", [node("a", "1")], { continue: "more" }));
    const second = stage.wire.next();
    expect(Object.fromEntries(second.query)).toEqual({ limit: "500", continue: "more" });
    expect(stage.seen.story).toEqual(["changed a"]);
    second.answer(200, list("10", [node("b", "2")]));
    expect(stage.seen.story).toEqual(["changed a", "changed b", "synced"]);
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: START });
  });

  test("leads to a watch with bookmarks and a timeout of 5 to 10 minutes", () => {
    stage.wire.next().answer(200, list("10", []));
    const { path, query } = stage.wire.next();
    const { timeoutSeconds, ...rest } = Object.fromEntries(query);
    expect([path, rest]).toEqual([
      "/api/v1/nodes",
      { watch: "true", allowWatchBookmarks: "true", resourceVersion: "10" },
    ]);
    expect(Number(timeoutSeconds)).toBe(599);
  });

  test("of pods has no selector; their watch omits those on no node", () => {
    seePods(stage.kube);
    stage.wire.next();
    const pods = stage.wire.next();
    expect([pods.path, pods.query.get("fieldSelector")]).toEqual(["/api/v1/pods", null]);
    pods.answer(200, list("10", []));
    expect(stage.wire.next().query.get("fieldSelector")).toBe("spec.nodeName!=");
  });

  test("that is refused is retried for ever, with backoff up to 5 s", () => {
    const times: number[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      stage.wire.next().answer(403, { kind: "Status", reason: "Forbidden", message: "no", code: 403 });
      const from = stage.clock.monotonicMs();
      while (stage.wire.waiting === 0) stage.clock.advance(1);
      times.push(stage.clock.monotonicMs() - from);
    }
    expect(times).toEqual([200, 400, 800, 1599, 3197, 4995, 4995, 4995]);
    expect(stage.seen.watch.state()).toEqual({ synced: false, since: null });
  });

  test("whose continue token expires is repeated without pages", () => {
    stage.wire.next().answer(200, list("10", [node("a", "1")], { continue: "more" }));
    stage.wire.next().answer(410, EXPIRED);
    stage.clock.advance(200);
    const again = stage.wire.next();
    expect(again.query.get("limit")).toBeNull();
    again.answer(200, list("12", [node("b", "2")]));
    expect(stage.seen.story).toEqual(["changed a", "changed b", "gone a", "synced"]);
  });

  test("that stays silent is aborted", () => {
    stage.clock.advance(60_000);
    expect(stage.wire.next().aborted).toBe(true);
    stage.clock.advance(200);
    expect(stage.wire.waiting).toBe(1);
  });

  test("of one object is aborted after 15 s: a freeze is known soon", () => {
    stage.kube.watch("freezes", { changed: () => {}, gone: () => {}, state: () => {} });
    const [nodes, discovery] = [stage.wire.next(), stage.wire.next()];
    discovery.answer(200, { resources: [{ name: "configmaps" }] });
    stage.clock.advance(0);
    const freezes = stage.wire.next();
    stage.clock.advance(15_000);
    expect([nodes.aborted, freezes.aborted]).toEqual([false, true]);
    stage.clock.advance(200);
    stage.wire.next().answer(200, { resources: [{ name: "configmaps" }] });
    stage.clock.advance(0);
    expect(stage.wire.next().path).toBe(freezes.path);
  });
});

describe("a watch", () => {
  test("publishes what is added, changed and deleted", () => {
    const watch = stage.synced();
    watch.line({ type: "ADDED", object: node("a", "11") });
    watch.line({ type: "MODIFIED", object: node("a", "12") });
    expect(stage.seen.present.get("a")?.resourceVersion).toBe("12");
    watch.line({ type: "DELETED", object: node("a", "13") });
    expect(stage.seen.story).toEqual(["synced", "changed a", "changed a", "gone a"]);
  });

  test("continues a line that was cut between chunks", () => {
    const watch = stage.synced();
    const line = `${JSON.stringify({ type: "ADDED", object: node("a", "11") })}\n`;
    for (const letter of line) watch.bytes(letter);
    expect(stage.seen.present.has("a")).toBe(true);
  });

  test("that ends in order is reopened at once where it was, without a log line", () => {
    const watch = stage.synced();
    watch.line({ type: "ADDED", object: node("a", "11") });
    watch.line({ type: "BOOKMARK", object: { kind: "Node", metadata: { resourceVersion: "20" } } });
    stage.clock.advance(80_000);
    watch.end();
    const again = stage.wire.next();
    expect(again.query.get("resourceVersion")).toBe("20");
    again.open();
    stage.clock.advance(1000);
    expect(stage.seen.story).toEqual(["synced", "changed a"]);
    expect(stage.seen.watch.state()).toEqual({ synced: true, since: START });
  });

  test("always closed at once is reopened a few times a minute only", () => {
    stage.synced().end();
    for (let elapsed = 0; elapsed < 60_000; elapsed += 10) {
      stage.clock.advance(10);
      if (stage.wire.waiting === 0) continue;
      const again = stage.wire.next();
      again.open();
      again.line({ type: "MODIFIED", object: node("a", String(100 + elapsed)) });
      again.end();
    }
    expect(stage.wire.requests.length).toBeLessThan(20);
  });

  test("that is silent for 90 s is reopened, without a log line", () => {
    const watch = stage.synced();
    stage.clock.advance(89_000);
    watch.bytes("\n");
    stage.clock.advance(89_999);
    expect(watch.aborted).toBe(false);
    stage.clock.advance(1);
    expect(watch.aborted).toBe(true);
    stage.wire.next().open();
    stage.clock.advance(1000);
    expect(stage.seen.story).toEqual(["synced"]);
  });

  test("refused with 429 is retried when the server asked, not before", () => {
    const watch = stage.synced();
    stage.clock.advance(6000);
    watch.end();
    stage.wire.next().answer(429, "slow down", { "retry-after": "7" });
    stage.clock.advance(6999);
    expect(stage.wire.waiting).toBe(0);
    stage.clock.advance(1);
    expect(stage.wire.waiting).toBe(1);
  });

  test("that stops publishes nothing more and aborts its request", () => {
    const watch = stage.synced();
    stage.seen.watch.stop();
    expect(watch.aborted).toBe(true);
    stage.clock.advance(600_000);
    expect([stage.wire.waiting, stage.seen.story]).toEqual([0, ["synced"]]);
  });

  test("continues when its sink throws, and counts that", async () => {
    let calls = 0;
    const throwing = (): never => {
      calls++;
      throw new Error("listener is broken");
    };
    stage.kube.watch("nodes", { changed: throwing, gone: throwing, state: throwing });
    stage.wire.next();
    stage.wire.next().answer(200, list("10", [node("a", "1")]));
    const watch = stage.wire.next();
    watch.open();
    watch.line({ type: "DELETED", object: node("a", "11") });
    expect(calls).toBe(3);
    expect(await stage.metrics.text()).toContain('vigil_kube_unreadable_total{resource="nodes",field="listener"} 3');
  });
});

describe("an unreadable object", () => {
  test("is dropped and counted, and the next one is published", async () => {
    const watch = stage.synced();
    watch.line({ type: "ADDED", object: { metadata: { name: "nameless" } } });
    watch.line({ type: "ADDED", object: "nonsense" });
    watch.line({ type: "ADDED", object: node("a", "12") });
    expect(stage.seen.story).toEqual(["synced", "changed a"]);
    const text = await stage.metrics.text();
    expect(text).toContain('vigil_kube_unreadable_total{resource="nodes",field="metadata.uid"} 1');
    expect(text).toContain('vigil_kube_unreadable_total{resource="nodes",field="metadata.name"} 1');
  });
});
