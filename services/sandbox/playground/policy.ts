/** The policy of the playground. */
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import { type Kube, Urgency } from "../../../protocols/ports.ts";

const { group, version, kind } = NODE_POLICY_API;

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

/** Applies the policy; one that is there stays. */
export function applyPolicy(kube: Kube): void {
  kube.write({ ref: REF, urgency: Urgency.readiness, verb: "create", body: POLICY }, () => {});
}

/** Deletes the policy, if it is there. */
export function removePolicy(kube: Kube): void {
  kube.write({ ref: REF, urgency: Urgency.readiness, verb: "delete" }, () => {});
}
