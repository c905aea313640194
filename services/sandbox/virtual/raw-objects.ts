/** Objects as the API would send them, from what a watch keeps of them. Projecting them again gives the same. */
import { Annotation, LEASE_NAMESPACE, MIRROR_ANNOTATION, PROOF_SEAL_LABEL } from "../../../protocols/names.ts";
import type { Condition, ObservedNode } from "../../../protocols/objects.ts";
import type { BoundPod, KubeObject, PolicyResource } from "../../../protocols/ports.ts";
import { apiMicroTime, apiTime } from "../../domain/api-time.ts";
import { proofSeal } from "../../platform/kube/proof-seal.ts";
import { recordedAnnotations } from "../../platform/kube/watch/node-annotations.ts";

/** A Node. */
export function nodeObject(node: ObservedNode): KubeObject {
  const { node: name, uid, resourceVersion, createdAt, labels, unschedulable, taints, conditions } = node;
  const annotations = recordedAnnotations(node);
  const proof = annotations[Annotation.provedDown];
  const seal = proof === undefined ? {} : { [PROOF_SEAL_LABEL]: proofSeal(proof) };
  const creationTimestamp = apiTime(createdAt);
  return {
    metadata: { name, uid, resourceVersion, creationTimestamp, labels: { ...labels, ...seal }, annotations },
    spec: { unschedulable, taints },
    status: { conditions: conditions.map(rawCondition) },
  };
}

function rawCondition({ type, status, reason, heartbeatAt, transitionAt }: Condition) {
  return {
    type,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(heartbeatAt === null ? {} : { lastHeartbeatTime: apiMicroTime(heartbeatAt) }),
    ...(transitionAt === null ? {} : { lastTransitionTime: apiMicroTime(transitionAt) }),
  };
}

/** A Pod. */
export function podObject({ node, resourceVersion, pod }: BoundPod): KubeObject {
  const { name, namespace, uid, phase, ready, tolerations, owner, ownerUid, deletionAt, mirror, generation } = pod;
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      creationTimestamp: apiTime(pod.createdAt),
      ...(deletionAt === null ? {} : { deletionTimestamp: apiTime(deletionAt) }),
      ...(owner === null ? {} : { ownerReferences: [{ controller: true, kind: owner, uid: ownerUid }] }),
      ...(mirror === true ? { annotations: { [MIRROR_ANNOTATION]: "mirror" } } : {}),
      ...(generation === undefined ? {} : { generation }),
    },
    spec: { nodeName: node, tolerations },
    status: {
      phase,
      conditions: [
        { type: "PodScheduled", status: "True", lastTransitionTime: apiMicroTime(pod.boundAt) },
        ...(ready === null ? [] : [{ type: "Ready", status: ready }]),
      ],
    },
  };
}

/** A Lease of kube-node-lease. */
export function leaseObject(name: string, renewedAt: number | null): KubeObject {
  const spec = renewedAt === null ? {} : { renewTime: apiMicroTime(renewedAt) };
  return { metadata: { name, namespace: LEASE_NAMESPACE }, spec };
}

/** A NodePolicy. */
export function policyObject({ name, uid, resourceVersion, generation, spec, status }: PolicyResource): KubeObject {
  return { metadata: { name, uid, resourceVersion, generation }, spec, status };
}
