/**
 * The objects of the remediation API of medik8s, as NodeHealthCheck makes them: named after the node, in the namespace
 * of the template, with its `spec.template.spec`, and the kind without `Template`. Pure.
 */
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import type { ConditionStatus } from "../../../protocols/objects.ts";
import type { Remediation } from "../../../protocols/policy-set.ts";
import type { KubeObject, ObjectRef, ReadReply } from "../../../protocols/ports.ts";
import { epochMsOf } from "../../domain/api-time.ts";
import { listOf, recordOf, textOf } from "../../structures/json.ts";
import type { RemediationObject } from "./remediation.policy.ts";

type Template = Remediation["template"];

const SUFFIX = "Template";
const OWNER_LABEL = "app.kubernetes.io/managed-by";
const OWNER = "vigil";
const POLICY_ANNOTATION = "vigil.v1/policy";
const NODE_ANNOTATION = "remediation.medik8s.io/node-name";
const TEMPLATE_ANNOTATION = "remediation.medik8s.io/template-name";
const TIMED_OUT_ANNOTATION = "remediation.medik8s.io/nhc-timed-out";

/** The kind of the objects that a template is for. */
export function remediationKind({ kind }: Template): string {
  return kind.slice(0, -SUFFIX.length);
}

/** The template itself. */
export function templateRef(template: Template): ObjectRef {
  return refOf(template, template.kind, template.name);
}

/** All objects of a template's kind in its namespace. */
export function remediationsRef(template: Template): ObjectRef {
  return refOf(template, remediationKind(template), "");
}

/** The object of one node; `node` is left out where the node is gone. */
export function remediationRef(template: Template, name: string, node?: string): ObjectRef {
  return { ...refOf(template, remediationKind(template), name), ...(node === undefined ? {} : { node }) };
}

/** The resource of a kind, by the rule of kubebuilder for plurals. */
export function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (/[^aeiou]y$/.test(lower)) return `${lower.slice(0, -1)}ies`;
  return /(s|x|z|ch|sh)$/.test(lower) ? `${lower}es` : `${lower}s`;
}

function refOf({ apiVersion, namespace }: Template, kind: string, name: string): ObjectRef {
  const [group = "", version = ""] = apiVersion.split("/");
  return { kind: "CustomResource", namespace, name, resource: { group, version, plural: pluralOf(kind) } };
}

/** The NodePolicy that an object is made for; without a uid where it comes from --config. */
export interface RemediationOwner {
  readonly policy: string;
  readonly uid: string | null;
}

/** The object of a node by its template as it was read; null for a template without `spec.template.spec`. */
export function remediationBody(
  template: Template,
  read: KubeObject,
  node: string,
  { policy, uid }: RemediationOwner,
): KubeObject | null {
  const spec = templateSpec(read);
  if (spec === null) return null;
  const { group, version, kind } = NODE_POLICY_API;
  const owner = uid === null ? [] : [{ apiVersion: `${group}/${version}`, kind, name: policy, uid }];
  return {
    apiVersion: template.apiVersion,
    kind: remediationKind(template),
    metadata: {
      name: node,
      namespace: template.namespace,
      labels: { [OWNER_LABEL]: OWNER },
      annotations: { [POLICY_ANNOTATION]: policy, [NODE_ANNOTATION]: node, [TEMPLATE_ANNOTATION]: template.name },
      ...(owner.length === 0 ? {} : { ownerReferences: owner }),
    },
    spec,
  };
}

function templateSpec(read: KubeObject): object | null {
  const { spec } = recordOf(recordOf(read.spec).template);
  return typeof spec === "object" && spec !== null && !Array.isArray(spec) ? spec : null;
}

/** The patch that gives an object up: its controller stops, and the next one may begin. */
export function timeOutPatch({ uid, resourceVersion }: RemediationObject, at: string): object {
  return { metadata: { uid, resourceVersion, annotations: { [TIMED_OUT_ANNOTATION]: at } } };
}

/** The objects of a list by name; those without an identity are left out. */
export function readRemediations(list: KubeObject): ReadonlyMap<string, RemediationObject> {
  const objects = listOf(list.items).flatMap((raw) => readRemediation(raw) ?? []);
  return new Map(objects.map((object) => [object.name, object]));
}

function readRemediation(raw: unknown): RemediationObject | null {
  const metadata = recordOf(recordOf(raw).metadata);
  const [name, uid, resourceVersion] = [metadata.name, metadata.uid, metadata.resourceVersion].map(textOf);
  const createdAt = epochMsOf(textOf(metadata.creationTimestamp));
  if (name == null || uid == null || resourceVersion == null || createdAt === null) return null;
  const annotations = recordOf(metadata.annotations);
  const { conditions } = recordOf(recordOf(raw).status);
  const isOwn = recordOf(metadata.labels)[OWNER_LABEL] === OWNER && textOf(annotations[POLICY_ANNOTATION]) !== null;
  return {
    name,
    uid,
    resourceVersion,
    createdAt,
    isOwn,
    isTimedOut: annotations[TIMED_OUT_ANNOTATION] !== undefined,
    isEnding: textOf(metadata.deletionTimestamp) !== null,
    isAnswered: listOf(conditions).length > 0,
    succeeded: statusOf(conditions, "Succeeded"),
    expectsDeletion: statusOf(conditions, "PermanentNodeDeletionExpected") === "True",
  };
}

function statusOf(conditions: unknown, type: string): ConditionStatus | null {
  const { status } = recordOf(
    listOf(conditions)
      .map(recordOf)
      .find((condition) => condition.type === type),
  );
  return status === "True" || status === "False" || status === "Unknown" ? status : null;
}

/** Why remediations of a policy do not work, in the words of its condition. */
export interface RemediationProblem {
  readonly reason:
    | "TemplateNotFound"
    | "TemplateInvalid"
    | "KindNotInstalled"
    | "Forbidden"
    | "Unreadable"
    | "NoneLeft";
  readonly message: string;
}

/** What a read says about a template, or about the objects of its kind; null when it was answered. */
export function readProblem(
  what: "template" | "objects",
  template: Template,
  reply: ReadReply,
): RemediationProblem | null {
  const { kind, namespace, name, apiVersion } = template;
  if (reply.outcome === "ok") {
    if (what === "objects" || templateSpec(reply.object) !== null) return null;
    const message = `${kind} ${namespace}/${name} has no spec.template.spec, which the objects would get`;
    return { reason: "TemplateInvalid", message };
  }
  const { plural = "", group = "" } =
    (what === "template" ? templateRef(template) : remediationsRef(template)).resource ?? {};
  const { outcome, detail } = reply;
  if (outcome === "denied") {
    const verb = what === "template" ? "get" : "list";
    const message = `Vigil may not ${verb} ${plural}.${group} in ${namespace}: vigil rbac prints the rules`;
    return { reason: "Forbidden", message };
  }
  if (outcome === "gone" && what === "template") {
    return { reason: "TemplateNotFound", message: `${kind} ${namespace}/${name} does not exist` };
  }
  // For a resource that is not served the API server answers with no object of its own.
  if (outcome === "gone" || detail.startsWith("404")) {
    return { reason: "KindNotInstalled", message: `the API server does not serve ${plural} of ${apiVersion}` };
  }
  return { reason: "Unreadable", message: `${plural}.${group} in ${namespace} cannot be read: ${detail}` };
}
