/** Watches on virtual time: their start, events and end. */
import { describe, expect, test } from "vitest";
import { Embedded, LEASES, lease, node, type Pending, PODS, pod } from "./embedded.ts";

const NODES = "/api/v1/nodes";

function received(watch: Pending): string[] {
  return watch.events.map(({ type, object }) => `${type} ${object.metadata.name}`);
}

describe("a watch begins", () => {
  test.each(["", "&resourceVersion=0"])("with what is there when it says %j", (version) => {
    const embedded = new Embedded();
    embedded.ask("POST", NODES, node("b"));
    embedded.ask("POST", NODES, node("a"));
    const watch = embedded.watch(`${NODES}?watch=1${version}`);
    embedded.ask("POST", NODES, node("c"));
    expect(received(watch)).toEqual(["ADDED a", "ADDED b", "ADDED c"]);
  });

  test("after the resourceVersion it names, with every change since", () => {
    const embedded = new Embedded();
    const { object } = embedded.ask("POST", NODES, node("a"));
    embedded.ask("PATCH", `${NODES}/a`, { metadata: { labels: { x: "1" } } }, "merge");
    embedded.ask("DELETE", `${NODES}/a`);
    const watch = embedded.watch(`${NODES}?watch=1&resourceVersion=${object.metadata.resourceVersion}`);
    expect(received(watch)).toEqual(["MODIFIED a", "DELETED a"]);
  });

  test("in the future, and is silent until then", () => {
    const embedded = new Embedded();
    const watch = embedded.watch(`${NODES}?watch=1&resourceVersion=${embedded.api.store.revision + 1}`);
    embedded.ask("POST", NODES, node("a"));
    embedded.ask("POST", NODES, node("b"));
    expect(received(watch)).toEqual(["ADDED b"]);
  });

  test("with ERROR 410 for a forgotten resourceVersion, and ends", () => {
    const embedded = new Embedded({ changesMax: 2 });
    const { object } = embedded.ask("POST", NODES, node("a"));
    for (const name of ["b", "c", "d"]) embedded.ask("POST", NODES, node(name));
    const watch = embedded.watch(`${NODES}?watch=1&resourceVersion=${object.metadata.resourceVersion}`);
    expect(watch.status).toBe(200);
    expect(watch.events).toMatchObject([{ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } }]);
    expect(watch.ended).toBe(true);
  });
});

test("a deleted object is sent in its last state, with its deletion's version", () => {
  const embedded = new Embedded();
  const { object } = embedded.ask("POST", NODES, node("a", { kept: "yes" }));
  const watch = embedded.watch(`${NODES}?watch=1&resourceVersion=${object.metadata.resourceVersion}`);
  embedded.ask("DELETE", `${NODES}/a`);
  const [event] = watch.events;
  expect(event).toMatchObject({ type: "DELETED", object: { metadata: { labels: { kept: "yes" } } } });
  expect(Number(event?.object.metadata.resourceVersion)).toBeGreaterThan(Number(object.metadata.resourceVersion));
});

describe("a watch with a selector", () => {
  test("adds a pod once bound, and deletes it once succeeded", () => {
    const embedded = new Embedded();
    const selector = encodeURIComponent("spec.nodeName!=,status.phase!=Succeeded");
    const watch = embedded.watch(`/api/v1/pods?watch=1&fieldSelector=${selector}`);
    embedded.ask("POST", PODS, pod("p"));
    expect(received(watch)).toEqual([]);
    embedded.ask("POST", `${PODS}/p/binding`, { metadata: { name: "p" }, target: { kind: "Node", name: "n" } });
    embedded.ask("PATCH", `${PODS}/p`, { metadata: { labels: { a: "b" } } }, "merge");
    embedded.ask("PATCH", `${PODS}/p/status`, { status: { phase: "Succeeded" } }, "merge");
    embedded.ask("PATCH", `${PODS}/p`, { metadata: { labels: { a: "c" } } }, "merge");
    expect(received(watch)).toEqual(["ADDED p", "MODIFIED p", "DELETED p"]);
  });

  test("by labels or by namespace sends only its own", () => {
    const embedded = new Embedded();
    const labelled = embedded.watch(`${NODES}?watch=1&labelSelector=zone%3Da`);
    const elsewhere = embedded.watch("/api/v1/namespaces/kube-system/pods?watch=1");
    embedded.ask("POST", NODES, node("in", { zone: "a" }));
    embedded.ask("POST", NODES, node("out", { zone: "b" }));
    embedded.ask("POST", PODS, pod("p"));
    expect(received(labelled)).toEqual(["ADDED in"]);
    expect(received(elsewhere)).toEqual([]);
  });
});

describe("a watch ends", () => {
  test("in order when its timeoutSeconds are over, not a millisecond before", () => {
    const embedded = new Embedded();
    const watch = embedded.watch(`${NODES}?watch=1&timeoutSeconds=30`);
    embedded.clock.advance(29_999);
    expect(watch.ended).toBe(false);
    embedded.clock.advance(1);
    expect(watch.ended).toBe(true);
  });

  test("by itself after 30 to 60 minutes without a timeout", () => {
    const embedded = new Embedded();
    const watch = embedded.watch(`${NODES}?watch=1`);
    embedded.clock.advance(1_800_000 - 1);
    expect(watch.ended).toBe(false);
    embedded.clock.advance(1_800_001);
    expect(watch.ended).toBe(true);
  });

  test("when its client aborts during a large start", () => {
    const embedded = new Embedded();
    for (let index = 0; index < 1_500; index++) embedded.ask("POST", NODES, node(`n-${index}`));
    let chunks = 0;
    const request = { method: "GET", path: `${NODES}?watch=1`, headers: {}, body: null };
    const ignore = (): undefined => undefined;
    const data = (): void => {
      chunks += 1;
      watch.abort();
    };
    const watch = embedded.api.wire.send(request, { response: ignore, data, end: ignore, failed: ignore });
    embedded.clock.advance(0);
    expect(chunks).toBe(1);
    expect(embedded.clock.pendingTimers).toBe(0);
    expect(embedded.api.store.collection("nodes").listeners).toBe(0);
  });

  test("without a timer or a listener left, on either side's end", () => {
    const embedded = new Embedded();
    embedded.watch(`${NODES}?watch=1&allowWatchBookmarks=true`).abort();
    embedded.watch(`${NODES}?watch=1&allowWatchBookmarks=true`);
    embedded.api.faults.cutWatches();
    expect(embedded.clock.pendingTimers).toBe(0);
    expect(embedded.api.store.collection("nodes").listeners).toBe(0);
  });
});

describe("bookmarks", () => {
  test("come each period and before the end, with the newest version", () => {
    const embedded = new Embedded({ bookmarkPeriodMs: 10_000 });
    const watch = embedded.watch(`${NODES}?watch=1&allowWatchBookmarks=true&timeoutSeconds=15`);
    embedded.ask("POST", PODS, pod("p"));
    embedded.clock.advance(10_000);
    const resourceVersion = String(embedded.api.store.revision);
    expect(watch.events).toMatchObject([{ type: "BOOKMARK", object: { kind: "Node", metadata: { resourceVersion } } }]);
    embedded.clock.advance(3_000);
    expect(watch.events).toHaveLength(2);
    expect(watch.ended).toBe(false);
  });

  test("are not sent to a watch that did not ask for them", () => {
    const embedded = new Embedded({ bookmarkPeriodMs: 10_000 });
    const watch = embedded.watch(`${NODES}?watch=1&timeoutSeconds=60`);
    embedded.clock.advance(60_000);
    expect(watch.text).toBe("");
  });
});

test("a lease's line has the order of fields in which the real server writes it", () => {
  const embedded = new Embedded();
  const watch = embedded.watch(`${LEASES}?watch=1`);
  const { spec } = lease("n-1", "2026-01-01T01:00:00.000001+01:00") as { spec: Record<string, unknown> };
  const shuffled = { spec: Object.fromEntries(Object.entries(spec).reverse()), metadata: { name: "n-1" } };
  embedded.ask("POST", LEASES, shuffled);
  expect(watch.text).toMatch(
    /^\{"type":"ADDED","object":\{"kind":"Lease","apiVersion":"coordination.k8s.io\/v1","metadata":\{"name":"n-1",/,
  );
  expect(watch.text).toContain(
    '"spec":{"holderIdentity":"n-1","leaseDurationSeconds":40,"renewTime":"2026-01-01T00:00:00.000001Z"}}}\n',
  );
});
