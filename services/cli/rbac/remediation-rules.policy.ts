/** The rights that remediations of policies need: in the namespaces of their templates, for the kinds named alone. */
import type { NodePolicy, Remediation } from "../../../protocols/policy-set.ts";
import { remediationsRef, templateRef } from "../../policy/remediations/remediation-object.policy.ts";

const NAME = "vigil-remediations";
const RBAC = "rbac.authorization.k8s.io";

/** A service account. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** A Role and its RoleBinding for each namespace, in order. */
export function remediationRoles(
  policies: readonly Pick<NodePolicy, "remediations">[],
  account: ServiceAccount,
): readonly object[] {
  const templates = policies.flatMap(({ remediations }) => remediations.map(({ template }) => template));
  const grouped = Map.groupBy(templates, ({ namespace }) => namespace);
  return [...grouped]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([namespace, ofNamespace]) => [
      {
        apiVersion: `${RBAC}/v1`,
        kind: "Role",
        metadata: { name: NAME, namespace },
        rules: rulesOf(ofNamespace),
      },
      {
        apiVersion: `${RBAC}/v1`,
        kind: "RoleBinding",
        metadata: { name: NAME, namespace },
        roleRef: { apiGroup: RBAC, kind: "Role", name: NAME },
        subjects: [{ kind: "ServiceAccount", ...account }],
      },
    ]);
}

/**
 * Whether a template is of Kubernetes itself, which the API server or an extension of it serves: its group has no dot,
 * or ends with k8s.io.
 * Custom resources of Kubernetes' own projects are in x-k8s.io.
 */
export function hasBuiltInGroup(template: Remediation["template"]): boolean {
  const { group = "" } = templateRef(template).resource ?? {};
  return !group.includes(".") || group === "k8s.io" || group.endsWith(".k8s.io");
}

/** A template is read by its name; the objects are listed, and written one by one. */
function rulesOf(templates: readonly Remediation["template"][]): object[] {
  const byKind = Map.groupBy(templates, ({ apiVersion, kind }) => `${apiVersion.split("/")[0]} ${kind}`);
  return [...byKind.values()].flatMap((ofKind) => {
    const [first] = ofKind;
    if (first === undefined) return [];
    const { group = "", plural: templateResource = "" } = templateRef(first).resource ?? {};
    const { plural = "" } = remediationsRef(first).resource ?? {};
    const resourceNames = [...new Set(ofKind.map(({ name }) => name))].sort();
    return [
      { apiGroups: [group], resources: [templateResource], resourceNames, verbs: ["get"] },
      { apiGroups: [group], resources: [plural], verbs: ["list", "create", "patch", "delete"] },
    ];
  });
}
