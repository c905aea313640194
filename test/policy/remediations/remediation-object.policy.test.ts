/** The objects that are made from templates, and what reads of them say. */
import { describe, expect, test } from "vitest";
import {
  pluralOf,
  readProblem,
  readRemediations,
  remediationBody,
  remediationRef,
  templateRef,
  timeOutPatch,
} from "../../../services/policy/remediations/remediation-object.policy.ts";

const TEMPLATE = {
  apiVersion: "self-node-remediation.medik8s.io/v1alpha1",
  kind: "SelfNodeRemediationTemplate",
  namespace: "medik8s",
  name: "reboot",
};
const READ = {
  metadata: { name: "reboot" },
  spec: { template: { spec: { remediationStrategy: "ResourceDeletion" } } },
};

test.each([
  ["SelfNodeRemediation", "selfnoderemediations"],
  ["RepairPolicy", "repairpolicies"],
  ["PowerSwitch", "powerswitches"],
])("the resource of %s is %s", (kind, plural) => expect(pluralOf(kind)).toBe(plural));

describe("the object of a node", () => {
  const body = remediationBody(TEMPLATE, READ, "worker-7", { policy: "gpu", uid: "u-1" });

  test("has its name, the spec of the template, and an owner", () => {
    expect(body).toMatchObject({
      apiVersion: TEMPLATE.apiVersion,
      kind: "SelfNodeRemediation",
      metadata: {
        name: "worker-7",
        namespace: "medik8s",
        annotations: {
          "remediation.medik8s.io/node-name": "worker-7",
          "remediation.medik8s.io/template-name": "reboot",
        },
        ownerReferences: [{ apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", name: "gpu", uid: "u-1" }],
      },
      spec: { remediationStrategy: "ResourceDeletion" },
    });
  });

  test("has no owner where its policy is not an object", () => {
    const owner = { policy: "gpu", uid: null };
    expect(remediationBody(TEMPLATE, READ, "worker-7", owner)?.metadata).not.toHaveProperty("ownerReferences");
  });

  test("is not made from a template without spec.template.spec", () => {
    const empty = { metadata: { name: "reboot" }, spec: {} };
    expect(remediationBody(TEMPLATE, empty, "worker-7", { policy: "gpu", uid: null })).toBeNull();
  });

  test("is recognized when it is read, with its conditions", () => {
    const metadata = { ...body?.metadata, uid: "o-1", resourceVersion: "3", creationTimestamp: "2026-01-01T00:00:00Z" };
    const conditions = [{ type: "Succeeded", status: "True" }, null, { type: "PermanentNodeDeletionExpected" }];
    const foreign = { metadata: { ...metadata, name: "worker-8", labels: {} } };
    const items = [{ ...body, metadata, status: { conditions } }, foreign, { metadata: { name: "no identity" } }, 7];
    const read = readRemediations({ metadata: { name: "" }, items });
    expect([...read.keys()]).toEqual(["worker-7", "worker-8"]);
    expect(read.get("worker-7")).toEqual({
      name: "worker-7",
      uid: "o-1",
      resourceVersion: "3",
      createdAt: Date.UTC(2026, 0, 1),
      isOwn: true,
      isTimedOut: false,
      isEnding: false,
      isAnswered: true,
      succeeded: "True",
      expectsDeletion: false,
    });
    expect(read.get("worker-8")?.isOwn).toBe(false);
    const timedOut = timeOutPatch({ ...read.get("worker-7") } as never, "2026-01-01T00:05:00Z");
    expect(JSON.stringify(timedOut)).toContain('"remediation.medik8s.io/nhc-timed-out":"2026-01-01T00:05:00Z"');
  });
});

test("references name the resources of the template's group and version", () => {
  const resource = { group: "self-node-remediation.medik8s.io", version: "v1alpha1" };
  expect(templateRef(TEMPLATE)).toEqual({
    kind: "CustomResource",
    namespace: "medik8s",
    name: "reboot",
    resource: { ...resource, plural: "selfnoderemediationtemplates" },
  });
  expect(remediationRef(TEMPLATE, "worker-7", "worker-7")).toMatchObject({
    name: "worker-7",
    node: "worker-7",
    resource: { ...resource, plural: "selfnoderemediations" },
  });
});

describe("a read", () => {
  test.each([
    ["template", { outcome: "gone", detail: "404: not found" }, "TemplateNotFound"],
    ["template", { outcome: "failed", detail: "404: 404 page not found" }, "KindNotInstalled"],
    ["objects", { outcome: "failed", detail: "404: 404 page not found" }, "KindNotInstalled"],
    ["objects", { outcome: "denied", detail: "403: forbidden" }, "Forbidden"],
    ["objects", { outcome: "failed", detail: "no answer within 10000 ms" }, "Unreadable"],
  ] as const)("of a %s that is not answered (%j) has a reason", (what, reply, reason) => {
    const problem = readProblem(what, TEMPLATE, reply);
    expect(problem?.reason).toBe(reason);
    expect(problem?.message).not.toContain("\n");
  });

  test.each([
    ["template", { spec: {} }, "TemplateInvalid"],
    ["template", { spec: { template: { spec: [] } } }, "TemplateInvalid"],
    ["template", READ, undefined],
    ["objects", { items: [] }, undefined],
  ] as const)("a %s of %j: %s", (what, fields, reason) => {
    const object = { metadata: { name: "reboot" }, ...fields };
    expect(readProblem(what, TEMPLATE, { outcome: "ok", object })?.reason).toBe(reason);
  });

  test("names the right that is missing", () => {
    const problem = readProblem("template", TEMPLATE, { outcome: "denied", detail: "403" });
    expect(problem?.message).toBe(
      "Vigil may not get selfnoderemediationtemplates.self-node-remediation.medik8s.io in medik8s: " +
        "vigil rbac prints the rules",
    );
  });
});
