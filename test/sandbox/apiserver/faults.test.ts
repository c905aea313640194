/** Every fault of the embedded API, as a client meets it. */
import { describe, expect, test } from "vitest";
import type { Fault } from "../../support/faulty-apiserver.ts";
import { Embedded, namesIn, node, PODS, pod } from "./embedded.ts";

const NODES = "/api/v1/nodes";
const WIDGETS = "/apis/faults.test/v1/widgets";
const SCHEMA = { openAPIV3Schema: { type: "object", properties: {} } };
const WIDGET_DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.faults.test" },
  spec: {
    group: "faults.test",
    scope: "Cluster",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: SCHEMA }],
  },
};

describe("a refusal", () => {
  test.each([
    [409, "Conflict"],
    [500, "InternalError"],
    [503, "ServiceUnavailable"],
    [504, "Timeout"],
  ])("with %i says %s, and nothing is carried out", (code, reason) => {
    const embedded = new Embedded();
    embedded.api.faults.add({ fault: { kind: "status", code }, times: 1 });
    expect(embedded.ask("POST", NODES, node("a"))).toMatchObject({ status: code, object: { kind: "Status", reason } });
    expect(embedded.ask("GET", `${NODES}/a`).status).toBe(404);
  });

  test("with 429 names a retry time in its header and in its details", () => {
    const embedded = new Embedded();
    embedded.api.faults.add({ fault: { kind: "status", code: 429, retryAfterSeconds: 7 } });
    expect(embedded.ask("GET", NODES)).toMatchObject({
      status: 429,
      headers: { "retry-after": "7" },
      object: { reason: "TooManyRequests", details: { retryAfterSeconds: 7 } },
    });
  });

  test("can imitate a webhook that denies deletes only", () => {
    const embedded = new Embedded();
    const message = 'admission webhook "keep.example" denied the request: not today';
    const fault: Fault = { kind: "status", code: 403, message };
    const stop = embedded.api.faults.add({
      fault,
      when: ({ verb, resource }) => verb === "delete" && resource.kind === "Pod",
    });
    embedded.ask("POST", PODS, pod("p"));
    expect(embedded.ask("DELETE", `${PODS}/p`)).toMatchObject({ status: 403, object: { message } });
    stop();
    expect(embedded.ask("DELETE", `${PODS}/p`).status).toBe(200);
  });
});

test("a fault counts down, and chance decides where it is asked to", () => {
  const embedded = new Embedded();
  embedded.api.faults.add({ fault: { kind: "status", code: 500 }, times: 2 });
  expect([1, 2, 3].map(() => embedded.ask("GET", NODES).status)).toEqual([500, 500, 200]);
  embedded.api.faults.add({ fault: { kind: "status", code: 500 }, probability: 0.5 });
  const refused = Array.from({ length: 200 }, () => embedded.ask("GET", NODES).status).filter(
    (status) => status === 500,
  );
  expect(refused.length).toBeGreaterThan(60);
  expect(refused.length).toBeLessThan(140);
});

test("latency delays the request, or its answer after the work is done", () => {
  const embedded = new Embedded();
  embedded.api.faults.add({ fault: { kind: "latency", requestMs: 100, answerMs: 50 }, times: 1 });
  const create = embedded.begin("POST", NODES, node("late"));
  embedded.clock.advance(99);
  expect(embedded.ask("GET", `${NODES}/late`).status).toBe(404);
  embedded.clock.advance(1);
  expect(embedded.ask("GET", `${NODES}/late`).status).toBe(200);
  expect(create.status).toBeNull();
  embedded.clock.advance(50);
  expect(create.status).toBe(201);
});

describe("a connection that breaks", () => {
  test("before the reply leaves the write done but unknown", () => {
    const embedded = new Embedded();
    embedded.api.faults.add({ fault: { kind: "lostReply" }, times: 1 });
    const create = embedded.begin("POST", NODES, node("a"));
    embedded.clock.advance(0);
    expect(create.broken).toMatchObject({ sent: true });
    expect(embedded.ask("GET", `${NODES}/a`).status).toBe(200);
  });

  test("before the work leaves nothing done but unknown", () => {
    const embedded = new Embedded();
    embedded.api.faults.add({ fault: { kind: "lostRequest" }, times: 1 });
    const create = embedded.begin("POST", NODES, node("a"));
    embedded.clock.advance(0);
    expect(create.broken).toMatchObject({ sent: true });
    expect(embedded.ask("GET", `${NODES}/a`).status).toBe(404);
  });

  test("or never answers at all when it stalls", () => {
    const embedded = new Embedded();
    embedded.api.faults.add({ fault: { kind: "stall" }, times: 1 });
    const create = embedded.begin("POST", NODES, node("a"));
    embedded.clock.advance(3_600_000);
    expect([create.status, create.broken]).toEqual([null, null]);
  });
});

test("a server that is down refuses connections and breaks watches until it is back", () => {
  const embedded = new Embedded();
  const watch = embedded.watch(`${NODES}?watch=1`);
  const back = embedded.api.faults.refuse();
  expect(watch.broken).toMatchObject({ sent: true });
  const refused = embedded.begin("GET", NODES);
  embedded.clock.advance(0);
  expect(refused.broken).toMatchObject({ sent: false });
  back();
  expect(embedded.ask("GET", NODES).status).toBe(200);
});

describe("watches", () => {
  test("are cut in order or broken, of one resource or of all", () => {
    const embedded = new Embedded();
    const nodes = embedded.watch(`${NODES}?watch=1`);
    const pods = embedded.watch("/api/v1/pods?watch=1");
    embedded.api.faults.cutWatches({ storage: "nodes" });
    expect([nodes.ended, pods.ended]).toEqual([true, false]);
    embedded.api.faults.cutWatches({ how: "break" });
    expect([pods.ended, pods.broken?.sent]).toEqual([false, true]);
  });

  test("go stale: they stay open and never send what happens meanwhile", () => {
    const embedded = new Embedded();
    const before = embedded.watch(`${NODES}?watch=1`);
    const pods = embedded.watch("/api/v1/pods?watch=1");
    const end = embedded.api.faults.silenceWatches("nodes");
    const during = embedded.watch(`${NODES}?watch=1`);
    embedded.ask("POST", NODES, node("hidden"));
    embedded.ask("POST", PODS, pod("p"));
    expect([before.text, during.text, pods.events.length]).toEqual(["", "", 1]);
    end();
    embedded.ask("POST", NODES, node("seen"));
    expect([before, during].map(({ events }) => events.map(({ object }) => object.metadata.name))).toEqual([
      ["seen"],
      ["seen"],
    ]);
  });
});

test("a compaction expires watches from before it and unfinished lists", () => {
  const embedded = new Embedded();
  for (const name of ["a", "b", "c"]) embedded.ask("POST", NODES, node(name));
  const first = embedded.ask("GET", `${NODES}?limit=1`);
  embedded.api.faults.compact();
  const watch = embedded.watch(`${NODES}?watch=1&resourceVersion=1`);
  expect(watch.events).toMatchObject([{ type: "ERROR", object: { code: 410 } }]);
  const token = String(first.object.metadata.continue);
  expect(embedded.ask("GET", `${NODES}?limit=1&continue=${token}`)).toMatchObject({
    status: 410,
    object: { reason: "Expired" },
  });
});

test("clear ends every fault", () => {
  const embedded = new Embedded();
  embedded.api.faults.add({ fault: { kind: "status", code: 500 } });
  embedded.api.faults.silenceWatches("nodes");
  embedded.api.faults.refuse();
  embedded.api.faults.clear();
  const watch = embedded.watch(`${NODES}?watch=1`);
  expect(embedded.ask("POST", NODES, node("a")).status).toBe(201);
  expect(watch.events).toHaveLength(1);
});

describe("a restored backup", () => {
  test("takes objects and resourceVersions back, and breaks watches", () => {
    const embedded = new Embedded();
    embedded.ask("POST", NODES, node("kept"));
    const version = embedded.ask("GET", NODES).object.metadata.resourceVersion;
    const backup = embedded.api.snapshot();
    embedded.ask("POST", NODES, node("lost"));
    embedded.ask("DELETE", `${NODES}/kept`);
    const watch = embedded.watch(`${NODES}?watch=1`);
    embedded.api.restore(backup, { watches: "cut" });
    expect(watch.broken).toMatchObject({ sent: true });
    const listed = embedded.ask("GET", NODES);
    expect([namesIn(listed), listed.object.metadata.resourceVersion]).toEqual([["kept"], version]);
    expect(embedded.ask("GET", `${NODES}/lost`).status).toBe(404);
    expect(embedded.ask("POST", NODES, node("next")).object.metadata.resourceVersion).toBe(String(Number(version) + 1));
  });

  test("can leave watches open, which never send anything again", () => {
    const embedded = new Embedded();
    const backup = embedded.api.snapshot();
    embedded.ask("POST", NODES, node("lost"));
    const watch = embedded.watch(`${NODES}?watch=1&allowWatchBookmarks=true`);
    const before = watch.text;
    embedded.api.restore(backup, { watches: "silent" });
    embedded.ask("POST", NODES, node("next"));
    embedded.clock.advance(200_000);
    expect([watch.text, watch.ended, watch.broken]).toEqual([before, false, null]);
  });

  test("accepts a watch at a version of the future, silent until then", () => {
    const embedded = new Embedded();
    const backup = embedded.api.snapshot();
    for (const name of ["a", "b"]) embedded.ask("POST", NODES, node(name));
    const future = embedded.ask("GET", NODES).object.metadata.resourceVersion;
    embedded.api.restore(backup, { watches: "cut" });
    const watch = embedded.watch(`${NODES}?watch=1&allowWatchBookmarks=true&resourceVersion=${future}`);
    for (const name of ["c", "d"]) embedded.ask("POST", NODES, node(name));
    embedded.clock.advance(59_000);
    expect([watch.status, watch.text]).toEqual([200, ""]);
    embedded.ask("POST", NODES, node("e"));
    expect(watch.events.map(({ object }) => object.metadata.name)).toEqual(["e"]);
  });

  test("takes custom resources back too", () => {
    const embedded = new Embedded();
    const backup = embedded.api.snapshot();
    embedded.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGET_DEFINITION);
    embedded.clock.advance(0);
    expect(embedded.ask("GET", WIDGETS).status).toBe(200);
    embedded.api.restore(backup, { watches: "cut" });
    embedded.clock.advance(0);
    expect(embedded.ask("GET", WIDGETS).status).toBe(404);
  });
});

test("a stale server serves lists from its cache and silent watches, all else is fresh", () => {
  const embedded = new Embedded();
  embedded.ask("POST", NODES, node("before"));
  const catchUp = embedded.api.faults.staleServer(({ resource }) => resource.storage === "nodes");
  embedded.ask("POST", NODES, node("after"));
  const watch = embedded.watch(`${NODES}?watch=1`);
  embedded.ask("POST", NODES, node("later"));
  const fromCache = embedded.ask("GET", `${NODES}?resourceVersion=0`);
  expect(namesIn(fromCache)).toEqual(["before"]);
  expect(watch.events.map(({ object }) => object.metadata.name)).toEqual(["before"]);
  expect(namesIn(embedded.ask("GET", NODES))).toEqual(["after", "before", "later"]);
  expect(embedded.ask("GET", `${NODES}/later`).status).toBe(200);
  catchUp();
  expect(watch.ended).toBe(true);
  expect(namesIn(embedded.ask("GET", `${NODES}?resourceVersion=0`))).toEqual(["after", "before", "later"]);
});
