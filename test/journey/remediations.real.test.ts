/**
 * Remediations by `vigil run` on an API server, with the schema of Self Node Remediation of medik8s, a controller
 * of the test's own that sets conditions or never answers, and `kill -9` in the middle.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ObjectRef, ReadReply, WriteRequest } from "../../protocols/ports.ts";
import { recordOf } from "../../services/structures/json.ts";
import { Stage, type StageServer, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { EvictionRecord } from "./eviction-record.ts";
import { createCustom, DEFINITION_RESOURCE, definePolicies, describeWithPolicies, putPolicy } from "./policy-apis.ts";

const GROUP = "self-node-remediation.medik8s.io";
const KIND = { group: GROUP, version: "v1alpha1", plural: "selfnoderemediations" };
const FLAGS = {
  "node-monitor-grace-period": "6s",
  "node-eviction-rate": "1",
  "pulse-period": "250ms",
  "pulse-timeout": "2s",
  "watch-blind": "4s",
};
const OUT = "node.kubernetes.io/out-of-service";
const TIMED_OUT = "remediation.medik8s.io/nhc-timed-out";
const WITHIN = { withinMs: 90_000, everyMs: 250 };

const STRATEGY = { type: "string", enum: ["Automatic", "ResourceDeletion", "OutOfServiceTaint"], default: "Automatic" };
const SPEC = { type: "object", properties: { remediationStrategy: STRATEGY } };
const CONDITION = {
  type: "object",
  required: ["lastTransitionTime", "message", "reason", "status", "type"],
  properties: {
    lastTransitionTime: { type: "string", format: "date-time" },
    message: { type: "string" },
    observedGeneration: { type: "integer", format: "int64" },
    reason: { type: "string" },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    type: { type: "string" },
  },
};
const STATUS = {
  type: "object",
  properties: {
    conditions: {
      type: "array",
      items: CONDITION,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
    },
    lastError: { type: "string" },
    phase: { type: "string" },
    timeAssumedRebooted: { type: "string", format: "date-time" },
  },
};
const DEFINITIONS = [
  definition("SelfNodeRemediation", SPEC, STATUS),
  definition(
    "SelfNodeRemediationTemplate",
    {
      type: "object",
      required: ["template"],
      properties: { template: { type: "object", required: ["spec"], properties: { spec: SPEC } } },
    },
    { type: "object" },
  ),
];
const TEMPLATE = {
  apiVersion: `${GROUP}/v1alpha1`,
  kind: "SelfNodeRemediationTemplate",
  metadata: { name: "deletion", namespace: "medik8s" },
  spec: { template: { spec: { remediationStrategy: "ResourceDeletion" } } },
};
const POLICY = {
  metadata: { name: "gpu" },
  spec: {
    selector: { matchLabels: { "topology.kubernetes.io/zone": "gpu" } },
    outOfService: { after: "2s", proof: ["RemediationSucceeded"] },
    remediations: [
      {
        timeout: "30s",
        template: { apiVersion: `${GROUP}/v1alpha1`, kind: TEMPLATE.kind, namespace: "medik8s", name: "deletion" },
      },
    ],
  },
};

const GPU: ObjectRef = { kind: "NodePolicy", namespace: "", name: "gpu" };

function definition(kind: string, spec: object, status: object) {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { type: "object", properties: { spec, status } };
  const version = { name: "v1alpha1", served: true, storage: true, subresources: { status: {} } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
    },
  };
}

interface Read {
  readonly metadata: {
    readonly uid: string;
    readonly annotations?: Record<string, string>;
    readonly [field: string]: unknown;
  };
  readonly spec: unknown;
}

function journey(open: () => Promise<StageServer>): void {
  let stage: Stage;
  let record: EvictionRecord;

  const write = async (request: WriteRequest) => {
    const reply = await new Promise((resolve) => stage.kube.write(request, resolve));
    expect(JSON.stringify(reply)).toContain('"outcome":"ok"');
  };
  const read = (ref: ObjectRef): Promise<ReadReply> => new Promise((resolve) => stage.kube.read(ref, resolve));
  const ofKind = (name: string): ObjectRef => ({ kind: "CustomResource", namespace: "medik8s", name, resource: KIND });
  const objects = async () => {
    const reply = await read(ofKind(""));
    return reply.outcome === "ok" ? (reply.object.items as Read[]) : [];
  };
  const condition = async () => {
    const reply = await read(GPU);
    const status = reply.outcome === "ok" ? recordOf(reply.object.status) : {};
    const conditions = (status.conditions ?? []) as { type: string; status: string; reason: string }[];
    const found = conditions.find(({ type }) => type === "RemediationsReady");
    return `${found?.status} ${found?.reason}`;
  };
  const setDryRun = (dryRun: boolean) => {
    const body = { spec: { remediations: POLICY.spec.remediations.map((step) => ({ ...step, dryRun })) } };
    return write({ verb: "patch", patch: "merge", ref: GPU, urgency: 0, body });
  };
  const carries = (key: string) => record.nodes.get("gpu-0")?.taints.some((each) => each.key.endsWith(key)) === true;
  const isBack = () => record.ready("gpu-0") === "True" && !carries("/unreachable") && !carries("/out-of-service");
  /** What the controller of the kind does. */
  const report = async (type: string, status: string) => {
    const lastTransitionTime = new Date().toISOString();
    const conditions = [{ type, status, reason: "Test", message: "as the test says", lastTransitionTime }];
    const body = { status: { conditions } };
    await write({ verb: "patch", patch: "merge", ref: ofKind("gpu-0"), subresource: "status", urgency: 0, body });
  };

  beforeAll(async () => {
    stage = await Stage.open(vigilWith(FLAGS), await open());
    record = new EvictionRecord(stage.kube, Date.now);
    await definePolicies(stage);
    stage.register({ "gpu-0": "gpu", "gpu-1": "gpu", "gpu-2": "gpu" });
    await until("the nodes are registered", () => record.nodes.size === 3, WITHIN);
    await stage.restart();
    await until("the nodes are well", isBack, WITHIN);
    const namespace = { kind: "Namespace", namespace: "", name: "medik8s" } as const;
    await write({ verb: "create", ref: namespace, urgency: 0, body: { metadata: { name: "medik8s" } } });
    await putPolicy(stage, POLICY.metadata.name, POLICY.spec);
  }, 180_000);

  afterAll(async () => {
    record.stop();
    await stage.close();
  });

  test("say what is missing, without touching anything", async () => {
    await until("the kind is missed", async () => (await condition()) === "False KindNotInstalled", WITHIN);
    for (const each of DEFINITIONS) {
      await createCustom(stage, DEFINITION_RESOURCE, each);
    }
    await until("the template is missed", async () => (await condition()) === "False TemplateNotFound", WITHIN);
    const templates = { group: GROUP, version: "v1alpha1", plural: "selfnoderemediationtemplates" };
    await createCustom(stage, templates, TEMPLATE);
    await until("all is there", async () => (await condition()) === "True TemplatesFound", WITHIN);
    expect(await objects()).toEqual([]);
  }, 180_000);

  test("are only checked by the API server as dry runs", async () => {
    await setDryRun(true);
    stage.silence("gpu-0");
    await until("it is accepted", () => stage.log().includes("remediation would be created"), WITHIN);
    expect(stage.log()).toContain("the API server accepts its object");
    expect(await objects()).toEqual([]);
    stage.resume("gpu-0");
    await until("it is back", isBack, WITHIN);
    await setDryRun(false);
  }, 240_000);

  test("run over kill -9, prove a node down, and go when it returns", async () => {
    stage.silence("gpu-0");
    await until("there is an object", async () => (await objects()).length === 1, WITHIN);
    const [made] = await objects();
    expect(carries("/unreachable")).toBe(true);
    expect(made?.spec).toEqual({ remediationStrategy: "ResourceDeletion" });
    expect(made?.metadata).toMatchObject({
      name: "gpu-0",
      annotations: { "remediation.medik8s.io/node-name": "gpu-0", "remediation.medik8s.io/template-name": "deletion" },
      ownerReferences: [{ apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", name: "gpu" }],
    });
    await stage.restart();
    await report("Processing", "True");
    expect(carries(OUT)).toBe(false);
    await report("Succeeded", "True");
    await until("it is out of service", () => carries(OUT), WITHIN);
    expect((await objects()).map(({ metadata }) => metadata.uid)).toEqual([made?.metadata.uid]);
    const node = await read({ kind: "Node", namespace: "", name: "gpu-0" });
    expect(JSON.stringify(node)).toContain("RemediationSucceeded");
    stage.resume("gpu-0");
    await until("it is back", isBack, WITHIN);
    await until("the object is gone", async () => (await objects()).length === 0, WITHIN);
  }, 240_000);

  test("time out where no controller answers, and say that none is left", async () => {
    stage.silence("gpu-0");
    const isTimedOut = async () =>
      (await objects()).some(({ metadata }) => metadata.annotations?.[TIMED_OUT] !== undefined);
    await until("it has timed out", isTimedOut, WITHIN);
    await until("the policy says so", async () => (await condition()) === "False NoneLeft", WITHIN);
    expect(carries(OUT)).toBe(false);
    stage.resume("gpu-0");
    await until("the object is gone", async () => (await objects()).length === 0, WITHIN);
    await until("all is well", async () => (await condition()) === "True TemplatesFound", WITHIN);
  }, 240_000);
}

describeWithPolicies("remediations", journey);
