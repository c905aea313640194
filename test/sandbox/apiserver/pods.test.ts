/** Pods: admission, defaults, binding, eviction and immutable fields. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { defaultTolerations, qosClass } from "../../../services/sandbox/apiserver/store/admission.ts";
import { Embedded, PODS, pod } from "./embedded.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";

describe("default tolerations", () => {
  const seconds = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 };

  test.each<[string, JsonObject[], string[]]>([
    ["nothing", [], [NOT_READY, UNREACHABLE]],
    ["one of the two", [{ key: NOT_READY, effect: "NoExecute", tolerationSeconds: 0 }], [UNREACHABLE]],
    ["one of them for every effect", [{ key: NOT_READY }], [UNREACHABLE]],
    ["everything", [{ operator: "Exists" }], []],
    ["another effect", [{ key: NOT_READY, effect: "NoSchedule" }], [NOT_READY, UNREACHABLE]],
    ["another key", [{ key: "x", effect: "NoExecute" }], [NOT_READY, UNREACHABLE]],
    ["it with an odd value", [{ key: UNREACHABLE, operator: "Equal", value: "?", effect: "NoExecute" }], [NOT_READY]],
  ])("for a pod that tolerates %s", (_what, given, added) => {
    expect(defaultTolerations(given)).toEqual([...given, ...added.map((key) => ({ key, ...seconds }))]);
  });
});

test("a new pod gets its defaults and starts pending, with any status", () => {
  const { object } = new Embedded().ask("POST", PODS, { ...pod("p", "n"), status: { phase: "Running" } });
  expect(object).toMatchObject({
    spec: { restartPolicy: "Always", terminationGracePeriodSeconds: 30, dnsPolicy: "ClusterFirst", nodeName: "n" },
    status: { phase: "Pending", qosClass: "BestEffort" },
  });
});

test.each<[string, JsonObject[], string]>([
  ["no amounts", [{}], "BestEffort"],
  ["requests alone", [{ requests: { cpu: "1" } }], "Burstable"],
  [
    "equal requests and limits",
    [{ requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1", memory: "1Gi" } }],
    "Guaranteed",
  ],
  [
    "one container without",
    [{ requests: { cpu: "1", memory: "1" }, limits: { cpu: "1", memory: "1" } }, {}],
    "Burstable",
  ],
])("a pod with %s is of class %s", (_what, resources, expected) => {
  expect(qosClass({ containers: resources.map((amounts) => ({ resources: amounts })) })).toBe(expected);
});

describe("a binding", () => {
  const bind = (embedded: Embedded, name: string) =>
    embedded.ask("POST", `${PODS}/p/binding`, { metadata: { name: "p" }, target: { kind: "Node", name } });

  test("sets the node and its time, once", () => {
    const embedded = new Embedded();
    embedded.ask("POST", PODS, pod("p"));
    expect(bind(embedded, "n-1")).toMatchObject({ status: 201, object: { status: "Success" } });
    expect(embedded.ask("GET", `${PODS}/p`).object).toMatchObject({
      spec: { nodeName: "n-1" },
      status: { conditions: [{ type: "PodScheduled", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" }] },
    });
    expect(bind(embedded, "n-2")).toMatchObject({
      status: 409,
      object: { message: expect.stringContaining('already assigned to node "n-1"') },
    });
  });

  test("of nothing, or to nothing, is refused", () => {
    const embedded = new Embedded();
    expect(bind(embedded, "n").status).toBe(404);
    expect(bind(embedded, "").status).toBe(400);
    expect(embedded.ask("GET", `${PODS}/p/binding`).status).toBe(405);
    expect(embedded.ask("POST", "/api/v1/nodes/n/binding", {}).status).toBe(404);
  });
});

test("an eviction deletes a pod with the grace and the preconditions it names", () => {
  const embedded = new Embedded();
  embedded.ask("POST", PODS, pod("p", "n"));
  const evict = (deleteOptions: object, name = "p") =>
    embedded.ask("POST", `${PODS}/p/eviction`, { metadata: { name }, deleteOptions });
  expect(evict({ preconditions: { uid: "another" } }).status).toBe(409);
  expect(evict({}, "q").status).toBe(400);
  expect(evict({ gracePeriodSeconds: 5 }).status).toBe(201);
  expect(embedded.ask("GET", `${PODS}/p`).object.metadata.deletionGracePeriodSeconds).toBe(5);
});

describe("of a pod that is there", () => {
  const patched = (patch: object) => {
    const embedded = new Embedded();
    embedded.ask("POST", PODS, pod("p", "n"));
    return embedded.ask("PATCH", `${PODS}/p`, patch, "strategic");
  };

  test.each<[string, object]>([
    ["its images", { spec: { containers: [{ name: "main", image: "other" }] } }],
    ["its labels", { metadata: { labels: { a: "b" } } }],
  ])("%s may change", (_what, patch) => {
    expect(patched(patch).status).toBe(200);
  });

  test.each<[string, object]>([
    ["its node", { spec: { nodeName: "m" } }],
    ["what restarts it", { spec: { restartPolicy: "Never" } }],
    ["its containers", { spec: { containers: [{ name: "more", image: "i" }] } }],
    ["a container's command", { spec: { containers: [{ name: "main", command: ["x"] }] } }],
  ])("%s may not", (_what, patch) => {
    expect(patched(patch)).toMatchObject({ status: 422, object: { reason: "Invalid" } });
  });

  test("tolerations may be added or their seconds changed", () => {
    const embedded = new Embedded();
    const own = { key: "x", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
    const { object } = embedded.ask("POST", PODS, pod("p", "n", { spec: { tolerations: [own] } }));
    const { tolerations } = object.spec as { tolerations: JsonObject[] };
    const change = (to: JsonObject[]) =>
      embedded.ask("PATCH", `${PODS}/p`, { spec: { tolerations: to } }, "merge").status;
    expect(change([...tolerations, { key: "y", operator: "Exists" }])).toBe(200);
    expect(change([{ ...own, tolerationSeconds: 9 }, ...tolerations.slice(1), { key: "y", operator: "Exists" }])).toBe(
      200,
    );
    expect(change(tolerations.slice(1))).toBe(422);
  });
});

test("a pod's status cannot change its owners, and podIP fills podIPs", () => {
  const embedded = new Embedded();
  embedded.ask("POST", PODS, pod("p", "n"));
  const patch = { metadata: { ownerReferences: [{ uid: "u", name: "x" }] }, status: { podIP: "10.0.0.1" } };
  const { object } = embedded.ask("PATCH", `${PODS}/p/status`, patch, "strategic");
  expect(object.metadata).not.toHaveProperty("ownerReferences");
  expect(object.status).toMatchObject({ podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] });
});
