/** Nodes are remediated through objects of medik8s' API, by all services on virtual time. */
import { describe, expect, test } from "vitest";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { type KubeObject, type ObjectRef, Urgency } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { epochMsOf } from "../../services/domain/api-time.ts";
import type { ConfiguredPolicy } from "../../services/domain/node-policy.parse.ts";
import { recordOf } from "../../services/platform/structures/json.ts";
import { previewedOn } from "../cli/preview/preview-world.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { ExplainedWorld } from "../support/explained-world.ts";

const S = 1000;
const MINUTE = 60 * S;
const GROUP = "self-node-remediation.medik8s.io";
const OUT = "node.kubernetes.io/out-of-service:NoExecute";
/** A step comes up to two rounds later than it could, and API stamps are whole seconds. */
const ROUNDS_S = 12;
const TIMED_OUT = "remediation.medik8s.io/nhc-timed-out";

type Step = NonNullable<NodePolicySpec["remediations"]>[number];
const stepOf = (kind: string, fields: Partial<Step> = {}): Step => ({
  timeout: "5m",
  template: { apiVersion: `${GROUP}/v1alpha1`, kind: `${kind}Template`, namespace: "medik8s", name: "reboot" },
  ...fields,
});

/** Nodes a-0 to a-9 under a policy with two remediations; the templates of the kinds named exist. */
class RemediationWorld extends ExplainedWorld {
  readonly configured: readonly ConfiguredPolicy[];

  constructor(spec: Partial<NodePolicySpec> = {}, kinds = ["Reboot", "PowerOff"], profile: Partial<Profile> = {}) {
    const remediations = [stepOf("Reboot"), stepOf("PowerOff")];
    const configured = [{ name: "gpu", spec: { selector: {}, remediations, ...spec } }];
    super(configured, profile);
    this.configured = configured;
    this.addZone("a", 10);
    this.post("/api/v1/namespaces", { metadata: { name: "medik8s" } });
    for (const kind of kinds) this.define(kind);
    // So that a kubelet falls silent some time before a round.
    this.advance(2 * S);
    this.run();
    this.advance(30 * S);
  }

  define(kind: string): void {
    for (const each of [kind, `${kind}Template`]) {
      const plural = `${each.toLowerCase()}s`;
      this.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(each, plural));
      this.advance(10);
    }
    this.write({
      verb: "create",
      ref: { ...this.ref(`${kind}Template`, "reboot") },
      urgency: Urgency.healing,
      body: {
        apiVersion: `${GROUP}/v1alpha1`,
        kind: `${kind}Template`,
        metadata: { name: "reboot", namespace: "medik8s" },
        spec: { template: { spec: { remediationStrategy: "Automatic" } } },
      },
    });
  }

  ref(kind: string, name: string): ObjectRef {
    const resource = { group: GROUP, version: "v1alpha1", plural: `${kind.toLowerCase()}s` };
    return { kind: "CustomResource", namespace: "medik8s", name, resource };
  }

  object(kind: string, name = "a-0"): KubeObject | null {
    return this.read(this.ref(kind, name));
  }

  /** The names of the objects of a kind. */
  objects(kind: string): string[] {
    const names = Array.from({ length: 10 }, (_, index) => `a-${index}`);
    return names.filter((name) => this.object(kind, name) !== null);
  }

  /** Sets a condition of an object, as its controller does. */
  report(kind: string, type: string, status: string, name = "a-0"): void {
    const conditions = [{ type, status, reason: "Test", message: "", lastTransitionTime: this.at() }];
    const body = { status: { conditions } };
    const ref = this.ref(kind, name);
    const reply = this.write({
      verb: "patch",
      patch: "merge",
      ref,
      subresource: "status",
      urgency: Urgency.status,
      body,
    });
    expect(reply.outcome).toBe("ok");
  }

  says(name = "a-0"): string {
    return this.reader.explainNode(name)?.sentences.join("\n") ?? "";
  }

  post(path: string, object: object): void {
    const headers = { "content-type": "application/json", accept: "application/json" };
    let status = 0;
    const response = (code: number): void => {
      status = code;
    };
    const request = { method: "POST", path, headers, body: JSON.stringify(object) };
    this.api.wire.send(request, { response, data: () => {}, end: () => {}, failed: () => {} });
    this.advance(0);
    expect(status).toBe(201);
  }
}

function definition(kind: string, plural: string): object {
  const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const version = { name: "v1alpha1", served: true, storage: true, subresources: { status: {} }, schema };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: { group: GROUP, scope: "Namespaced", names, versions: [version] },
  };
}

describe("a preview", () => {
  const down = { node: ["a-0"], down: true };
  const recoveryIn = (world: RemediationWorld) => previewedOn(world, down, world.configured).nodes[0];
  const secondsBetween = (before: number, at: number | null) => Math.abs((at ?? Number.NaN) - before) / S;

  test("says when each remediation comes", () => {
    const world = new RemediationWorld({ remediations: [stepOf("Reboot", { timeout: "2m" }), stepOf("PowerOff")] });
    const { remediations = [] } = recoveryIn(world) ?? {};
    const startAt = world.clock.wallMs();
    world.silence(["a-0"]);
    world.advance(10 * MINUTE);
    expect(remediations.map(({ kind }) => kind)).toEqual(["Reboot", "PowerOff"]);
    for (const { kind, createdAfterMs } of remediations) {
      const createdAt = epochMsOf(String(world.object(kind)?.metadata.creationTimestamp));
      expect(secondsBetween(startAt + createdAfterMs, createdAt)).toBeLessThan(ROUNDS_S);
    }
  });

  test("says from when on a proof would put a node out of service", () => {
    const world = new RemediationWorld({ outOfService: { after: "3m", proof: ["RemediationSucceeded"] } });
    const { outOfService } = recoveryIn(world) ?? {};
    const startAt = world.clock.wallMs();
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    world.report("Reboot", "Succeeded", "True");
    world.advance(10 * MINUTE);
    const node = world.read({ kind: "Node", namespace: "", name: "a-0" });
    const stamp = recordOf(node?.metadata.annotations)["vigil.v1/out-of-service"];
    const taintedAt = epochMsOf(String(stamp));
    expect(outOfService?.proofs).toEqual(["RemediationSucceeded"]);
    expect(secondsBetween(startAt + (outOfService?.fromAfterMs ?? 0), taintedAt)).toBeLessThan(ROUNDS_S);
  });

  test("ends with a dry run, after which none follows", () => {
    const world = new RemediationWorld({ remediations: [stepOf("Reboot", { dryRun: true }), stepOf("PowerOff")] });
    expect(recoveryIn(world)?.remediations).toMatchObject([{ kind: "Reboot", isDryRun: true, timesOutAfterMs: null }]);
  });

  test("in direct mode has none, because nodes get no taint", () => {
    const world = new RemediationWorld({}, ["Reboot"], { evictionMode: "direct" });
    expect(recoveryIn(world)).not.toHaveProperty("remediations");
  });
});

describe("a silent node", () => {
  test("gets the first remediation once it is admitted for eviction", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(MINUTE);
    expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
    world.advance(10 * S);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([["a-0"], []]);
    expect(world.object("Reboot")?.spec).toEqual({ remediationStrategy: "Automatic" });
    expect(world.says()).toMatch(/Its remediation by Reboot has run since \S+, until \S+ at most/);
  });

  test("gets the next one after the timeout, over a crash", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    const { uid } = world.object("Reboot")?.metadata ?? {};
    world.crash(2 * MINUTE);
    world.advance(2 * MINUTE);
    expect(world.object("Reboot")?.metadata.uid).toBe(uid);
    expect(world.objects("PowerOff")).toEqual(["a-0"]);
    expect(world.object("Reboot")?.metadata.annotations).toHaveProperty([TIMED_OUT]);
    world.advance(6 * MINUTE);
    expect(world.object("PowerOff")?.metadata.annotations).toHaveProperty([TIMED_OUT]);
    expect(world.says()).toContain("Every remediation of its policy has failed or timed out");
  });

  test("gets the next one at once when the first has failed", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(90 * S);
    world.report("Reboot", "Succeeded", "False");
    world.advance(15 * S);
    expect(world.objects("PowerOff")).toEqual(["a-0"]);
  });

  test("loses its objects when it is back, in a freeze too", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(8 * MINUTE);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([["a-0"], ["a-0"]]);
    world.request({ name: "alice", since: world.at() });
    world.revive(["a-0"]);
    world.advance(20 * S);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([[], []]);
  });

  test("loses its objects with the node", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    world.advance(2 * MINUTE);
    world.write({
      verb: "delete",
      ref: { kind: "Node", namespace: "", name: "a-0" },
      urgency: Urgency.healing,
      gracePeriodSeconds: 0,
    });
    world.advance(20 * S);
    expect(world.objects("Reboot")).toEqual([]);
  });

  test("is declared out of service once its remediation has succeeded", () => {
    const world = new RemediationWorld({ outOfService: { after: "1m", proof: ["RemediationSucceeded"] } });
    world.silence(["a-0"]);
    world.advance(3 * MINUTE);
    expect(world.taints("a-0")).not.toContain(OUT);
    world.report("Reboot", "Succeeded", "True");
    world.advance(20 * S);
    expect(world.taints("a-0")).toContain(OUT);
    expect(world.says()).toContain("Its remediation by Reboot of");
    expect(world.objects("PowerOff")).toEqual([]);
  });
});

describe("a remediation is held back", () => {
  test("by a freeze", () => {
    const world = new RemediationWorld();
    world.silence(["a-0"]);
    while (!world.taints("a-0").includes(`${UNREACHABLE}:NoExecute`)) world.advance(100);
    world.request({ name: "alice", since: world.at() });
    world.advance(10 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
    expect(world.says()).toContain("Its remediation by Reboot waits: ConfigMap vigil-freeze: pauseRequests (alice)");
  });

  test("by a budget", () => {
    const world = new RemediationWorld({ budgets: [{ nodes: 1 }], nodeEvictionRate: 10 });
    world.silence(["a-0", "a-1", "a-2"]);
    world.advance(3 * MINUTE);
    expect(world.objects("Reboot")).toHaveLength(1);
    expect(world.says("a-2")).toContain("budgets of NodePolicy gpu holds it back");
  });

  test("by dryRun", () => {
    const world = new RemediationWorld({ remediations: [stepOf("Reboot", { dryRun: true })] });
    world.silence(["a-0"]);
    world.advance(10 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
    expect(world.says()).toContain("Its remediation by Reboot would begin now, but this is a dry run");
  });

  test("by shadow mode of its policy", () => {
    const world = new RemediationWorld({ mode: "Shadow" });
    world.silence(["a-0"]);
    world.advance(10 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
  });

  test("by a kind that is not installed, also of the next one", () => {
    const world = new RemediationWorld({}, ["Reboot"]);
    world.silence(["a-0"]);
    world.advance(3 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
    const problem = `the API server does not serve poweroffs of ${GROUP}/v1alpha1`;
    expect(world.says()).toContain(problem);
    const logged = world.logged().filter(({ message }) => message.endsWith("its remediations do not work"));
    expect(logged.map(({ fields }) => fields.detail)).toEqual([problem]);
  });

  test("by a right that is missing, until it is granted", () => {
    const world = new RemediationWorld();
    const grant = world.api.faults.add({
      fault: { kind: "status", code: 403, message: "forbidden" },
      when: ({ verb, resource }) => verb === "create" && resource.plural === "reboots",
    });
    world.silence(["a-0"]);
    world.advance(3 * MINUTE);
    expect([world.objects("Reboot"), world.objects("PowerOff")]).toEqual([[], []]);
    expect(world.says()).toContain(`the API server refused to create reboots.${GROUP} in medik8s: 403`);
    grant();
    world.advance(2 * MINUTE);
    expect(world.objects("Reboot")).toEqual(["a-0"]);
  });

  test("by an object that another client made", () => {
    const world = new RemediationWorld();
    const metadata = { name: "a-0", namespace: "medik8s" };
    const body = { apiVersion: `${GROUP}/v1alpha1`, kind: "PowerOff", metadata, spec: {} };
    world.write({ verb: "create", ref: world.ref("PowerOff", "a-0"), urgency: Urgency.healing, body });
    world.silence(["a-0"]);
    world.advance(10 * MINUTE);
    expect(world.objects("Reboot")).toEqual([]);
    world.revive(["a-0"]);
    world.advance(MINUTE);
    expect(world.objects("PowerOff")).toEqual(["a-0"]);
  });
});
