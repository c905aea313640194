/**
 * Whether Vigil was lost with its nodes. Its pods then stay bound to silent nodes, because it is Vigil that evicts, and
 * their ReplicaSet still counts them. A workload is lost when every pod of it is on a silent node. If they are deleted
 * without force, they stay Terminating there, and are replaced at once. Pure.
 */
import { listText, spanText } from "../../domain/format.ts";

/** A pod of Vigil. */
export interface OwnPod {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly workload: Workload;
  /** The node that it is bound to; null before. */
  readonly node: string | null;
  /** Whether it has ended, or is Terminating: it runs no process that counts, and its replacement is on its way. */
  readonly isLeaving: boolean;
}

/** The controller that keeps pods running, such as a Deployment. */
export interface Workload {
  readonly kind: string;
  readonly name: string;
}

/** When each node's lease was renewed last, in epoch milliseconds; null for one without a lease. */
export type Renewals = ReadonlyMap<string, number | null>;

/** What is known of the kubelets. */
export interface Heartbeats {
  readonly renewals: Renewals;
  /** The renewals at the first read: a lease renewed since then is not silent. Null for the first read itself. */
  readonly before: Renewals | null;
  /** Now, by the API server's clock, in epoch milliseconds. */
  readonly nowAt: number;
  /** Age in milliseconds from which a renewal counts as silence. */
  readonly silentForMs: number;
}

/** A pod that was lost with its node. */
export interface LostPod extends OwnPod {
  readonly node: string;
  readonly silentMs: number;
}

/** What follows for a workload. */
export type Verdict =
  /** A process of it may run. */
  | { readonly kind: "alive"; readonly workload: Workload; readonly pod: string; readonly why: string }
  /** No pod of it is bound to a node, so there is nothing to delete. */
  | { readonly kind: "starting"; readonly workload: Workload }
  /** All its pods are on silent nodes, and are replaced once they are Terminating. */
  | { readonly kind: "lost"; readonly workload: Workload; readonly pods: readonly LostPod[] }
  /** All its pods are on silent nodes, but each is replaced only once it is gone: by its kubelet, force or a proof. */
  | { readonly kind: "stuck"; readonly workload: Workload; readonly pods: readonly LostPod[] };

/** The kinds that replace a pod while it is Terminating. A StatefulSet waits until it is gone. */
const REPLACING: readonly string[] = ["Deployment", "ReplicaSet"];

/** A verdict about each workload, by name. */
export function verdictsOf(pods: readonly OwnPod[], heartbeats: Heartbeats): readonly Verdict[] {
  const workloads = new Map<string, OwnPod[]>();
  for (const pod of pods) {
    const key = workloadText(pod.workload);
    workloads.set(key, [...(workloads.get(key) ?? []), pod]);
  }
  return [...workloads]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .flatMap(([, own]) => verdictOf(own, heartbeats) ?? []);
}

/** The nodes whose leases decide. */
export function decisiveNodes(pods: readonly OwnPod[]): readonly string[] {
  return [...new Set(pods.flatMap(({ node, isLeaving }) => (isLeaving || node === null ? [] : [node])))];
}

function verdictOf(pods: readonly OwnPod[], heartbeats: Heartbeats): Verdict | null {
  const [first] = pods;
  if (first === undefined) return null;
  const { workload } = first;
  const lost: LostPod[] = [];
  for (const pod of pods) {
    const { node } = pod;
    if (node === null || pod.isLeaving) continue;
    const renewedAt = heartbeats.renewals.get(node) ?? null;
    const why = livenessOf(node, renewedAt, heartbeats);
    if (why !== null) return { kind: "alive", workload, pod: pod.name, why };
    lost.push({ ...pod, node, silentMs: heartbeats.nowAt - (renewedAt ?? 0) });
  }
  if (lost.length === 0) return { kind: "starting", workload };
  return { kind: REPLACING.includes(workload.kind) ? "lost" : "stuck", workload, pods: lost };
}

/** Why a node may be alive; null for a silent one. Clocks may be wrong, so the age of a renewal alone is no proof. */
function livenessOf(node: string, renewedAt: number | null, heartbeats: Heartbeats): string | null {
  const { before, nowAt, silentForMs } = heartbeats;
  if (renewedAt === null) return `node ${node} has no lease`;
  const ageMs = nowAt - renewedAt;
  if (ageMs < silentForMs) {
    return `the kubelet of ${node} renewed its lease ${ageMs < 0 ? "just now" : `${spanText(ageMs)} ago`}`;
  }
  if (before === null || before.get(node) === renewedAt) return null;
  return `the lease of ${node} was renewed, or the pod was bound, meanwhile`;
}

function workloadText({ kind, name }: Workload): string {
  return `${kind} ${name}`;
}

/** A verdict for people, in one line. */
export function verdictText(verdict: Verdict): string {
  const workload = workloadText(verdict.workload);
  switch (verdict.kind) {
    case "alive":
      return `${workload} may be alive: pod ${verdict.pod}: ${verdict.why}`;
    case "starting":
      return `${workload} waits: no pod of it is on a node, and its replacements are not scheduled yet`;
    case "lost":
      return `${workload} is lost: ${nodesText(verdict.pods)}`;
    case "stuck":
      return (
        `${workload} is lost: ${nodesText(verdict.pods)}; a pod of it is only replaced once it is gone: delete its Node, ` +
        "or, if you know that the machine is off, the pod with --force"
      );
  }
}

function nodesText(pods: readonly LostPod[]): string {
  return listText(
    pods.map(({ name, node, silentMs }) => `pod ${name} is on ${node}, silent for ${spanText(silentMs)}`),
  );
}
