/** Events: selectors and validation. */
import { describe, expect, test } from "vitest";
import { Embedded, namesIn } from "./embedded.ts";

const CORE = "/api/v1/namespaces/default/events";

const old = { involvedObject: { kind: "Node", name: "n" }, reason: "R", message: "m", count: 2 };
const fresh = {
  involvedObject: { kind: "Pod", namespace: "default", name: "p" },
  eventTime: "2026-01-01T00:00:00.000001Z",
  reportingComponent: "vigil.example/writer",
  reportingInstance: "w-1",
  action: "Evict",
  reason: "R",
  message: "n",
  type: "Normal",
};

test("selectors find Events by their object", () => {
  const embedded = new Embedded();
  embedded.ask("POST", CORE, { metadata: { name: "old" }, ...old });
  embedded.ask("POST", CORE, { metadata: { name: "fresh" }, ...fresh });
  const found = (selector: string) =>
    namesIn(embedded.ask("GET", `${CORE}?fieldSelector=${encodeURIComponent(selector)}`));
  expect(found("involvedObject.kind=Node,involvedObject.name=n")).toEqual(["old"]);
  expect(found("reason=R,type!=Normal")).toEqual(["old"]);
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
      CORE,
      { ...fresh, involvedObject: { kind: "Node", name: "n" } },
      "involvedObject.namespace",
    ],
  ])("%s", (_what, path, event, field) => {
    expect(new Embedded().ask("POST", path, { metadata: { name: "e" }, ...event })).toMatchObject({
      status: 422,
      object: { details: { kind: "Event", causes: [{ field }] } },
    });
  });

  test("unless old and in default, or new and in kube-system", () => {
    const embedded = new Embedded();
    expect(embedded.ask("POST", CORE, { metadata: { name: "e" }, ...old }).status).toBe(201);
    const event = { metadata: { name: "e" }, ...fresh, involvedObject: { kind: "Node", name: "n" } };
    expect(embedded.ask("POST", CORE.replace("default", "kube-system"), event).status).toBe(201);
  });
});
