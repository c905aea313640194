/** The policy of the playground, and the definition that lets the embedded API serve policies. */
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import { type Kube, Urgency } from "../../../protocols/ports.ts";

const { group, version, kind, plural } = NODE_POLICY_API;

/** The zone whose nodes have the policy. */
export const PATIENT_ZONE = "zone-c";
/** How long a node of that zone may be silent. */
export const PATIENT_MS = 20_000;

const REF = { kind: "NodePolicy", namespace: "", name: "patient" } as const;

const POLICY = {
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name: REF.name },
  spec: {
    selector: { matchLabels: { "topology.kubernetes.io/zone": PATIENT_ZONE } },
    nodeMonitorGracePeriod: `${PATIENT_MS / 1000}s`,
  },
};

const FREE = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;

/** The definition of policies. Vigil checks their fields, so it lists none; that for clusters is in deploy/crd. */
export const POLICY_DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { kind, plural, shortNames: ["npol"] },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: "Mode", type: "string", jsonPath: ".spec.mode" },
          { name: "Nodes", type: "integer", jsonPath: ".status.nodes" },
          { name: "Unhealthy", type: "integer", jsonPath: ".status.unhealthy" },
        ],
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "How Vigil judges and evicts the nodes that a selector chooses.",
            properties: {
              spec: { ...FREE, description: "The selector and the limits, as docs/policies.md describes them." },
              status: { ...FREE, description: "What Vigil found." },
            },
          },
        },
      },
    ],
  },
};

/** Applies the policy; one that is there stays. */
export function applyPolicy(kube: Kube): void {
  kube.write({ ref: REF, urgency: Urgency.readiness, verb: "create", body: POLICY }, () => {});
}

/** Deletes the policy, if it is there. */
export function removePolicy(kube: Kube): void {
  kube.write({ ref: REF, urgency: Urgency.readiness, verb: "delete" }, () => {});
}
