/** Events in their two versions: one store, two views, and validation. */
import { describe, expect, test } from "vitest";
import { Embedded, namesIn } from "./embedded.ts";

const CORE = "/api/v1/namespaces/default/events";
const NEW = "/apis/events.k8s.io/v1/namespaces/default/events";

const old = { involvedObject: { kind: "Node", name: "n" }, reason: "R", message: "m", count: 2 };
const fresh = {
  regarding: { kind: "Pod", namespace: "default", name: "p" },
  eventTime: "2026-01-01T00:00:00.000001Z",
  reportingController: "vigil.example/writer",
  reportingInstance: "w-1",
  action: "Evict",
  reason: "R",
  note: "n",
  type: "Normal",
};

test("an Event shows the same under both versions, each with its own names", () => {
  const embedded = new Embedded();
  embedded.ask("POST", CORE, { metadata: { name: "old" }, ...old });
  embedded.ask("POST", NEW, { metadata: { name: "fresh" }, ...fresh });
  expect(embedded.ask("GET", `${NEW}/old`).object).toMatchObject({
    apiVersion: "events.k8s.io/v1",
    regarding: old.involvedObject,
    note: "m",
    deprecatedCount: 2,
    eventTime: null,
  });
  expect(embedded.ask("GET", `${CORE}/fresh`).object).toMatchObject({
    apiVersion: "v1",
    involvedObject: fresh.regarding,
    message: "n",
    reportingComponent: "vigil.example/writer",
    firstTimestamp: null,
  });
  expect(namesIn(embedded.ask("GET", NEW))).toEqual(["fresh", "old"]);
});

test("a patch through one version is seen by a watch of the other", () => {
  const embedded = new Embedded();
  embedded.ask("POST", NEW, { metadata: { name: "e" }, ...fresh });
  const watch = embedded.watch(`${CORE}?watch=1&resourceVersion=${embedded.api.store.revision}`);
  const series = { count: 2, lastObservedTime: "2026-01-01T00:00:05.000000Z" };
  expect(embedded.ask("PATCH", `${NEW}/e`, { series }, "strategic").status).toBe(200);
  expect(watch.events).toMatchObject([{ type: "MODIFIED", object: { apiVersion: "v1", message: "n", series } }]);
});

test("selectors use the names of their version", () => {
  const embedded = new Embedded();
  embedded.ask("POST", CORE, { metadata: { name: "old" }, ...old });
  embedded.ask("POST", NEW, { metadata: { name: "fresh" }, ...fresh });
  const found = (path: string, selector: string) =>
    namesIn(embedded.ask("GET", `${path}?fieldSelector=${encodeURIComponent(selector)}`));
  expect(found(CORE, "involvedObject.kind=Node,involvedObject.name=n")).toEqual(["old"]);
  expect(found(NEW, "regarding.name=p")).toEqual(["fresh"]);
  expect(found(CORE, "reason=R,type!=Normal")).toEqual(["old"]);
});

describe("an Event is refused", () => {
  test.each<[string, string, object, string]>([
    [
      "old, about an object of another namespace",
      CORE,
      { ...old, involvedObject: { kind: "Pod", namespace: "x", name: "p" } },
      "involvedObject.namespace",
    ],
    [
      "new, about a cluster-scoped object outside kube-system",
      NEW,
      { ...fresh, regarding: { kind: "Node", name: "n" } },
      "involvedObject.namespace",
    ],
  ])("%s", (_what, path, event, field) => {
    expect(new Embedded().ask("POST", path, { metadata: { name: "e" }, ...event })).toMatchObject({
      status: 422,
      object: { details: { kind: "Event", causes: [{ field }] } },
    });
  });

  test("but an old one about a node is valid in default, and a new one in kube-system", () => {
    const embedded = new Embedded();
    expect(embedded.ask("POST", CORE, { metadata: { name: "e" }, ...old }).status).toBe(201);
    const event = { metadata: { name: "e" }, ...fresh, regarding: { kind: "Node", name: "n" } };
    expect(embedded.ask("POST", NEW.replace("default", "kube-system"), event).status).toBe(201);
  });
});
