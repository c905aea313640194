/** What the embedded API refuses, and with which fields. */
import { describe, expect, test } from "vitest";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from "../../../services/sandbox/apiserver/validation/object-names.ts";
import { Embedded, LEASES, lease, node, PODS, pod } from "./embedded.ts";

describe("names", () => {
  test.each([
    ["a", true, true],
    ["a-1.b", false, true],
    ["", false, false],
    ["A", false, false],
    ["-a", false, false],
    ["a.", false, false],
    ["a".repeat(63), true, true],
    ["a".repeat(64), false, true],
    [`${"a".repeat(251)}.b`, false, true],
    [`${"a".repeat(252)}.b`, false, false],
  ])("%j is a DNS label: %j, a DNS subdomain: %j", (name, label, subdomain) => {
    expect([dnsLabelProblems(name).length === 0, dnsSubdomainProblems(name).length === 0]).toEqual([label, subdomain]);
  });

  test.each([
    ["a", true],
    ["A_b.c-1", true],
    ["example.com/a", true],
    ["/a", false],
    ["Example.com/a", false],
    ["a/b/c", false],
    ["a/", false],
    ["", false],
    ["a".repeat(64), false],
  ])("%j is a label key: %j", (key, fits) => {
    expect(qualifiedNameProblems(key).length === 0).toBe(fits);
  });

  test.each([
    ["", true],
    ["A_b.c-1", true],
    ["a b", false],
    ["-a", false],
    ["a".repeat(64), false],
  ])("%j is a label value: %j", (value, fits) => {
    expect(labelValueProblems(value).length === 0).toBe(fits);
  });
});

const tainted = (...taints: object[]): object => ({ ...node("n"), spec: { taints } });
const container = (more: object): object => ({ metadata: { name: "p" }, spec: { containers: [more] } });

test.each<[string, string, object, string[]]>([
  ["a node without a name", "/api/v1/nodes", { metadata: {} }, ["metadata.name"]],
  [
    "a node with a bad name and label",
    "/api/v1/nodes",
    node("N!", { "a b": "c d" }),
    ["metadata.name", "metadata.labels", "metadata.labels"],
  ],
  ["a taint without an effect", "/api/v1/nodes", tainted({ key: "a" }), ["metadata.taints[0].effect"]],
  [
    "a taint with a strange effect",
    "/api/v1/nodes",
    tainted({ key: "a", effect: "NoWay" }),
    ["metadata.taints[0].effect"],
  ],
  [
    "two taints of a key and effect",
    "/api/v1/nodes",
    tainted({ key: "a", effect: "NoExecute" }, { key: "a", effect: "NoExecute", value: "x" }),
    ["metadata.taints[1]"],
  ],
  ["a pod without containers", PODS, { metadata: { name: "p" } }, ["spec.containers"]],
  ["a container without name and image", PODS, container({}), ["spec.containers[0].name", "spec.containers[0].image"]],
  ["a strange restart policy", PODS, pod("p", "", { spec: { restartPolicy: "Maybe" } }), ["spec.restartPolicy"]],
  [
    "a lease of no length",
    LEASES,
    { metadata: { name: "n" }, spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    ["spec.leaseDurationSeconds", "spec.leaseTransitions"],
  ],
])("%s is invalid, and every cause names its field", (_what, path, body, fields) => {
  const { status, object } = new Embedded().ask("POST", path, body);
  expect(status).toBe(422);
  const { causes } = object.details as { causes: { field: string; message: string }[] };
  expect(causes.map(({ field }) => field)).toEqual(fields);
  for (const { field, message } of causes) expect(object.message).toContain(`${field}: ${message}`);
});

test.each<[string, object]>([
  ["labels that are a list", { metadata: { name: "n", labels: [] } }],
  ["a label that is a number", { metadata: { name: "n", labels: { a: 1 } } }],
  ["metadata that is a text", { metadata: "n" }],
  ["a name that is a number", { metadata: { name: 1 } }],
  ["taints that are a text", { metadata: { name: "n" }, spec: { taints: "x" } }],
  ["unschedulable as a text", { metadata: { name: "n" }, spec: { unschedulable: "yes" } }],
  [
    "a time that is none",
    { metadata: { name: "n" }, status: { conditions: [{ type: "Ready", lastHeartbeatTime: "now" }] } },
  ],
])("a node with %s is not read at all", (_what, body) => {
  expect(new Embedded().ask("POST", "/api/v1/nodes", body)).toMatchObject({
    status: 400,
    object: { reason: "BadRequest" },
  });
});

test("a renewTime needs all six digits of its microseconds, in a body and in a patch", () => {
  const embedded = new Embedded();
  expect(embedded.ask("POST", LEASES, lease("n", "2026-01-01T00:00:00Z")).status).toBe(400);
  embedded.ask("POST", LEASES, lease("n", "2026-01-01T00:00:00.000000Z"));
  const patch = { spec: { renewTime: "2026-01-01T00:00:00.5Z" } };
  expect(embedded.ask("PATCH", `${LEASES}/n`, patch, "merge")).toMatchObject({
    status: 422,
    object: { reason: "Invalid" },
  });
});

describe("a body that is no object", () => {
  test.each(["", "no", "[1]", '"x"'])("%j is 400", (body) => {
    const embedded = new Embedded();
    let status = 0;
    const request = { method: "POST", path: "/api/v1/nodes", headers: { "content-type": "application/json" }, body };
    const ignore = (): undefined => undefined;
    embedded.api.wire.send(request, {
      response: (code) => {
        status = code;
      },
      data: ignore,
      end: ignore,
      failed: ignore,
    });
    embedded.clock.advance(0);
    expect(status).toBe(400);
  });

  test("of an unknown content type is 415", () => {
    const embedded = new Embedded();
    embedded.ask("POST", "/api/v1/nodes", node("n"));
    expect(embedded.ask("POST", "/api/v1/nodes", {}, "json", { "content-type": "text/plain" }).status).toBe(415);
    expect(embedded.ask("PATCH", "/api/v1/nodes/n", {}, "json").status).toBe(415);
  });
});
