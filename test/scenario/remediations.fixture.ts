/** A cluster whose nodes are remediated through objects of medik8s' API, by all services on virtual time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { parse } from "yaml";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { type KubeObject, type ObjectRef, Urgency, type WriteRequest } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { ConfiguredPolicy } from "../../services/domain/node-policy.parse.ts";
import { listOf, recordOf } from "../../services/structures/json.ts";
import { ProcessClock } from "../sim/process-clock.ts";
import { ExplainedWorld } from "../support/explained-world.ts";
import { Standstill } from "../support/standstill.ts";

const S = 1000;
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NODE_POLICIES = join(import.meta.dirname, "../../deploy/crd/nodepolicies.yaml");
const POLICY = "gpu";
const TEMPLATE_SPEC = { template: { spec: { remediationStrategy: "Automatic" } } };

/** The group of the remediations. */
export const GROUP = "self-node-remediation.medik8s.io";

type Step = NonNullable<NodePolicySpec["remediations"]>[number];

/** A step of `remediations` by a template of this kind. */
export const stepOf = (kind: string, fields: Partial<Step> = {}): Step => ({
  timeout: "5m",
  template: { apiVersion: `${GROUP}/v1alpha1`, kind: `${kind}Template`, namespace: "medik8s", name: "reboot" },
  ...fields,
});

/** What a cluster has of the kinds that its policy names, and where the policy is. */
export interface Remediators {
  /** The kinds that are installed, with their templates. */
  readonly kinds?: readonly string[];
  /** Whether the policy is an object of the API, and not of --config. */
  readonly isObject?: boolean;
  /** Whether Vigil runs in shadow mode. */
  readonly isShadow?: boolean;
  readonly profile?: Partial<Profile>;
}

/** Nodes a-0 to a-9 under the policy gpu, with two remediations if it names no others. */
export class RemediationWorld extends ExplainedWorld {
  readonly configured: readonly ConfiguredPolicy[];
  /** The clock and the standstill of the process that runs until the first crash. */
  readonly processClock = new ProcessClock(this.clock, { rate: 1, wallOffsetMs: 0 });
  readonly standstill = new Standstill(this.processClock);

  constructor(
    fields: Partial<NodePolicySpec> = {},
    { kinds = ["Reboot", "PowerOff"], isObject = false, isShadow = false, profile = {} }: Remediators = {},
  ) {
    const spec = { selector: {}, remediations: [stepOf("Reboot"), stepOf("PowerOff")], ...fields };
    const configured = isObject ? [] : [{ name: POLICY, spec }];
    super(configured, profile);
    this.configured = configured;
    this.addZone("a", 10);
    this.post("/api/v1/namespaces", { metadata: { name: "medik8s" } });
    for (const kind of kinds) {
      this.define(kind);
      this.addTemplate(kind);
    }
    if (isObject) this.putPolicy(spec);
    // A kubelet then stops some time before a round.
    this.advance(2 * S);
    this.run({ isShadow, standstill: this.standstill });
    this.advance(30 * S);
  }

  /** Installs a kind and that of its templates. */
  define(kind: string): void {
    for (const each of [kind, `${kind}Template`]) {
      this.post(DEFINITIONS, definition(each, `${each.toLowerCase()}s`));
      this.advance(10);
    }
  }

  /** Creates the template of a kind; this one has a spec for objects if no other is given. */
  addTemplate(kind: string, spec: object = TEMPLATE_SPEC): void {
    const metadata = { name: "reboot", namespace: "medik8s" };
    const body = { apiVersion: `${GROUP}/v1alpha1`, kind: `${kind}Template`, metadata, spec };
    this.write({ verb: "create", ref: this.ref(`${kind}Template`, "reboot"), urgency: Urgency.healing, body });
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

  /** Every write to an object of a remediation from now on, as `verb resource`, with its query. */
  recordRemediationWrites(): string[] {
    const writes: string[] = [];
    this.api.faults.add({
      fault: { kind: "latency" },
      when: ({ verb, resource: { plural }, query }) => {
        const isWrite = !["get", "list", "watch"].includes(verb);
        if (isWrite && (plural === "reboots" || plural === "poweroffs"))
          writes.push(`${verb} ${plural} ${String(query)}`.trim());
        return false;
      },
    });
    return writes;
  }

  /** Sets a condition of an object, as its controller does. */
  report(kind: string, type: string, status: string, name = "a-0"): void {
    expect(this.write(this.#reportOf(kind, type, status, name)).outcome).toBe("ok");
  }

  /** The same from within a request of another client: it is carried out after that one. */
  reportNext(kind: string, type: string, status: string): void {
    this.kube.write(this.#reportOf(kind, type, status, "a-0"), () => {});
  }

  #reportOf(kind: string, type: string, status: string, name: string): WriteRequest {
    const conditions = [{ type, status, reason: "Test", message: "", lastTransitionTime: this.at() }];
    const ref = this.ref(kind, name);
    const body = { status: { conditions } };
    return { verb: "patch", patch: "merge", ref, subresource: "status", urgency: Urgency.status, body };
  }

  /** The condition RemediationsReady of the policy as `status reason: message`; "" without one. */
  condition(): string {
    const policy = this.read({ kind: "NodePolicy", namespace: "", name: POLICY });
    const conditions = listOf(recordOf(policy?.status).conditions).map(recordOf);
    const found = conditions.find(({ type }) => type === "RemediationsReady");
    return found === undefined ? "" : `${String(found.status)} ${String(found.reason)}: ${String(found.message)}`;
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

  /** Installs the definition of node policies, and creates an object with the name of the policy. */
  putPolicy(spec: NodePolicySpec): void {
    this.post(DEFINITIONS, parse(readFileSync(NODE_POLICIES, "utf8")));
    this.advance(10);
    const object = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: POLICY }, spec };
    this.post("/apis/vigil.io/v1alpha1/nodepolicies", object);
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
