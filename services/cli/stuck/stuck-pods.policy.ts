/**
 * Pods that stay on their node, and why. Here those that stay Terminating because the node is dead: past their deletion
 * grace, on a node that is not Ready or has left the API. No kubelet can confirm there that their containers have
 * ended. So the API server keeps them, and a StatefulSet gets no replacement. Example: `cart-0` is deleted at 12:00:00
 * with a grace of 30 s, on a node that is Unknown; it is stuck from 12:00:30, held by its node. Each hold states what
 * keeps a pod, and what would release it. Pure.
 */
import type { ConditionStatus } from "../../../protocols/objects.ts";
import type { CountedTaint } from "../../domain/toleration.ts";
import type { MissingSupport } from "./out-of-service-support.policy.ts";

/** What is known of a node that is in the API. */
export interface NodeSituation {
  readonly ready: ConditionStatus | null;
  /** When that status began, in epoch milliseconds; null where it is not known. */
  readonly since: number | null;
  /** Whether it carries the taint node.kubernetes.io/out-of-service. */
  readonly isOutOfService: boolean;
  /**
   * Whether a user (`vigil prove-down`) or a remediation has reported it as off since it stopped sending heartbeats.
   */
  readonly isProvedDown: boolean;
  /** Its NoExecute taints, each with when it began to count in epoch milliseconds. */
  readonly evicting: readonly CountedTaint[];
}

/** Why a node counts as dead. `NoStatus`: it has no Ready condition. */
export type DeadState = "NotReady" | "Unknown" | "NoStatus" | "Gone";

/** The state of a node with a stuck pod. */
export type StuckNodeState = DeadState | "Ready";

/** What is known of a terminating pod. */
export interface TerminatingPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string;
  /** When its deletion grace ended, in epoch milliseconds. */
  readonly graceEndedAt: number;
  /** 0: the API server no longer waits for a kubelet, and only finalizers keep the pod. */
  readonly gracePeriodSeconds: number | null;
  readonly finalizers: readonly string[];
  /** The names of its PersistentVolumeClaims. */
  readonly claims: readonly string[];
}

/** A volume that is attached to a node. */
export interface Attachment {
  /** The name of the VolumeAttachment. */
  readonly name: string;
  readonly node: string;
  /** The name of the PersistentVolume. */
  readonly volume: string;
}

/** The volumes behind pods. */
export interface Volumes {
  readonly attachments: readonly Attachment[];
  /** The PersistentVolume of each claim, by `namespace/name`. */
  readonly byClaim: ReadonlyMap<string, string>;
}

/** What is known of the cluster around a pod. */
export interface StuckCluster {
  readonly volumes: Volumes;
  /** Why no controller acts on the out-of-service taint; null where kube-controller-manager does. */
  readonly missing: MissingSupport | null;
}

/** One thing that keeps a pod, or its volume, where it is. */
export interface StuckHold {
  readonly kind: "Finalizer" | "Node" | "VolumeAttachment" | "StaticPod" | "Owner";
  readonly name: string;
  readonly why: string;
  readonly releasedBy: string;
}

/** A pod that is stuck, as `vigil get stuck` shows it. Instants are epoch milliseconds. */
export interface StuckPod extends Pick<TerminatingPod, "namespace" | "name" | "uid" | "node"> {
  /** Since when it should be off its node. */
  readonly stuckSince: number;
  /** When its deletion grace ended; null for a pod that is not terminating. */
  readonly graceEndedAt: number | null;
  readonly nodeState: StuckNodeState;
  readonly nodeSince: number | null;
  readonly holds: readonly StuckHold[];
}

const DEAD_STATES: Readonly<Record<ConditionStatus, DeadState | null>> = {
  True: null,
  False: "NotReady",
  Unknown: "Unknown",
};

const POD_GC = "the pod garbage collector of kube-controller-manager";
const BY_FORCE = "kubectl delete pod --force";

/** Why a node counts as dead; null while it is Ready. Undefined is a node that is not in the API. */
export function deadStateOf(node: NodeSituation | undefined): DeadState | null {
  if (node === undefined) return "Gone";
  return node.ready === null ? "NoStatus" : DEAD_STATES[node.ready];
}

/** The state of a node that is in the API. */
export function nodeStateOf(node: NodeSituation): StuckNodeState {
  return deadStateOf(node) ?? "Ready";
}

/** Whether a pod is stuck: its deletion grace is over, and its node is dead. */
export function isStuck(deletionAt: number | null, node: NodeSituation | undefined, nowAt: number): boolean {
  return deletionAt !== null && deletionAt < nowAt && deadStateOf(node) !== null;
}

/** A stuck pod with its holds; null when its node is Ready after all. */
export function stuckPodOf(
  pod: TerminatingPod,
  node: NodeSituation | undefined,
  { volumes, missing }: StuckCluster,
): StuckPod | null {
  const nodeState = deadStateOf(node);
  if (nodeState === null) return null;
  const { namespace, name, uid, graceEndedAt } = pod;
  const holds = [
    ...pod.finalizers.map(finalizerHold),
    ...(pod.gracePeriodSeconds === 0 ? [] : [nodeHold(pod.node, nodeState, node, missing)]),
    ...volumeHolds(pod, volumes),
  ];
  const place = { node: pod.node, nodeState, nodeSince: node?.since ?? null };
  return { namespace, name, uid, ...place, stuckSince: graceEndedAt, graceEndedAt, holds };
}

/** Orders stuck pods: the longest stuck first. */
export function byAge(
  left: Pick<StuckPod, "stuckSince" | "namespace" | "name">,
  right: Pick<StuckPod, "stuckSince" | "namespace" | "name">,
): number {
  const key = ({ namespace, name }: Pick<StuckPod, "namespace" | "name">) => `${namespace}/${name}`;
  return left.stuckSince - right.stuckSince || key(left).localeCompare(key(right));
}

function finalizerHold(name: string): StuckHold {
  const releasedBy = "the controller of the finalizer, which removes it";
  return { kind: "Finalizer", name, why: `finalizer ${name}`, releasedBy };
}

function nodeHold(
  name: string,
  state: DeadState,
  node: NodeSituation | undefined,
  missing: MissingSupport | null,
): StuckHold {
  const kind = "Node";
  if (state === "Gone") {
    const releasedBy = `${POD_GC}, or ${BY_FORCE}`;
    return { kind, name, why: `node ${name} is gone, and the pod was not garbage collected yet`, releasedBy };
  }
  if (node?.isOutOfService === true) return { kind, name, ...outOfServiceHold(name, missing) };
  const silence = state === "Unknown" ? "is silent" : "is not Ready";
  if (node?.isProvedDown === true) {
    const taint = `the out-of-service taint: vigil explain node ${name} says when it comes`;
    const releasedBy = missing?.kind === "none" ? `${BY_FORCE}: ${missing.text}` : taint;
    return { kind, name, why: `node ${name} ${silence}, proved down, and not out of service yet`, releasedBy };
  }
  const why = `node ${name} ${silence}, and not proved down`;
  const proof = `vigil prove-down ${name} where its policy has outOfService`;
  const last = missing?.kind === "none" ? `${BY_FORCE} once its machine is surely off: ${missing.text}` : proof;
  return { kind, name, why, releasedBy: `its kubelet, the deletion of the Node, or ${last}` };
}

function outOfServiceHold(name: string, missing: MissingSupport | null): Pick<StuckHold, "why" | "releasedBy"> {
  const outOfService = `node ${name} is out of service`;
  if (missing?.kind === "none") return { why: `${outOfService}, but ${missing.text}`, releasedBy: BY_FORCE };
  const why = `${outOfService}, and the pod was not garbage collected yet`;
  if (missing === null) return { why, releasedBy: `${POD_GC} 1.26 or later` };
  return { why: `${why}: ${missing.text}`, releasedBy: `${POD_GC} with that gate, or ${BY_FORCE}` };
}

function volumeHolds(
  { namespace, node, claims }: TerminatingPod,
  { attachments, byClaim: ofClaims }: Volumes,
): StuckHold[] {
  return claims.flatMap((claim) => {
    const volume = ofClaims.get(`${namespace}/${claim}`);
    return attachments
      .filter((attachment) => attachment.node === node && attachment.volume === volume)
      .map(({ name }): StuckHold => {
        const why = `volume ${volume} of claim ${claim} is attached to ${node}`;
        const releasedBy = "the attach-detach controller of kube-controller-manager, once the pod is gone";
        return { kind: "VolumeAttachment", name, why, releasedBy };
      });
  });
}
