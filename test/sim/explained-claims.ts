/**
 * The rules that make each sentence of explain true. A sentence may be true of any state that the object has had since
 * its process may last have received it; in the calm that is the present one. Each new sentence needs a rule here.
 */

import type { ExplainedFact } from "../../protocols/ledger-reader.ts";
import type { PolicySentenceName, SentenceName } from "../../services/ledger/explain/sentences.ts";
import type { ApartServer } from "./apart-server.ts";
import { type ExplainedPod, type ExplainedTruth, noExecuteNames, readyOf } from "./explained-truth.ts";
import { type CheckedNode, conditionOf, isDrainable, isOfDaemonSet } from "./invariants.ts";
import { POLICY_RULES } from "./policies/explained-policies.ts";
import type { PolicyView } from "./policies/policy-view.ts";
import { isUnreadable, secondsFor } from "./tolerated-seconds.ts";
import type { RateState, ZoneCount } from "./zone-rates.ts";

/** What a sentence of explain says, and what it is checked against. */
export interface Claim extends ExplainedFact {
  /** The node of the explanation, or of its pod; "" for a pod without one. */
  readonly node: string;
  /** The pod of the explanation, without its namespace; "" for none. */
  readonly pod: string;
  readonly truth: ExplainedTruth;
  /** The earliest instant of the node's state that the explanation may describe, on the world's wall clock. */
  readonly nodeSinceMs: number;
  /** The same for the pod: just before it was read. */
  readonly podSinceMs: number;
  /** Whether a node has been silent for its grace at some time since then. */
  readonly isSilent: (node: string) => boolean;
  /** Whether a node gave a heartbeat at about an instant, as far as clocks agree. */
  readonly wasAlive: (node: string, atMs: number) => boolean;
  /** The rate state and the count of the node's zone now; null for a missing node. */
  readonly zone: () => ZoneNow | null;
  readonly isDirect: boolean;
  /** Whether Lt and Gt are compared. */
  readonly isComparing: boolean;
  /** A pod as it is stamped and as it truly came; absent where no server's clock is apart. */
  readonly ways?: ApartServer["ways"];
  /** What the API has shown of policies; absent in a run without them. */
  readonly policies?: PolicyView;
  /** How long ago the pod was due to be deleted, or the node to be queued, as is explained; 0 if it is not. */
  readonly overdueMs: number;
  /** How long the clock of a process has been suspended at most since the node was tainted. */
  readonly lostMs: number;
  /** Whether the faults have ended and the cluster has recovered. */
  readonly isCalm: boolean;
  /** Whether watches stay behind in the calm too; absent where they do not. */
  readonly isBehind?: boolean;
}

/** The present state of a zone. */
export interface ZoneNow extends ZoneCount {
  readonly state: RateState;
}

type Rule = (claim: Claim) => boolean;

/** How long after its deadline a deletion or a drain is requested at the latest: clocks are some seconds apart. */
const REQUESTED_WITHIN_MS = 10_000;

const always: Rule = () => true;
/** True only before the calm. */
const notInCalm: Rule = ({ isCalm }) => !isCalm;

const nodes = ({ truth, node, nodeSinceMs }: Claim) => truth.nodes.since(node, nodeSinceMs);
const someNode = (claim: Claim, is: (node: CheckedNode) => boolean) =>
  nodes(claim).some((node) => node !== null && is(node));
const somePod = ({ truth, pod, podSinceMs }: Claim, is: (pod: ExplainedPod) => boolean) =>
  truth.pods.since(pod, podSinceMs).some((state) => state !== null && is(state));
/** Whether a drain of the node would delete a pod. */
const hasPodsToDrain = ({ truth, node }: Claim) =>
  truth.pods.present().some((pod) => pod.spec.nodeName === node && isDrainable(pod));
/** The pod is bound to the named node. */
const isBound: Rule = (claim) => somePod(claim, ({ spec }) => spec.nodeName === claim.node);
/** A stamp as explain writes it, in whole seconds: a client may have written it with more digits. */
const inSeconds = (stamp: string | null | undefined) => stamp?.replace(/\.\d+Z$/, "Z");
const isMirror = ({ metadata }: ExplainedPod) => metadata.annotations?.["kubernetes.io/config.mirror"] !== undefined;
const isDown = (node: CheckedNode) => readyOf(node) === "Unknown" || readyOf(node) === "False";
/** The Ready status of a node in the words of explain. */
const shownReady = (node: CheckedNode) => (readyOf(node) === null ? "no Ready condition" : `Ready=${readyOf(node)}`);

const unknown: Rule = (claim) => claim.isSilent(claim.node) || someNode(claim, (node) => readyOf(node) === "Unknown");
/** Unknown, with its kubelet's last heartbeat at the named instant; those of a node that has left are forgotten. */
const unknownSince: Rule = (claim) => {
  const hasLeft = nodes(claim).some((node) => node === null);
  return unknown(claim) && (hasLeft || claim.wasAlive(claim.node, Date.parse(claim.values.heartbeat ?? "")));
};
const untainted: Rule = (claim) => someNode(claim, (node) => noExecuteNames(node).length === 0);
const hasAilment = (node: CheckedNode) => conditionOf(node, "GpuLost")?.status === "True";
const waits: Rule = (claim) =>
  someNode(claim, (node) => isDown(node) || hasAilment(node)) || claim.isSilent(claim.node);
/** A node that waits in a zone of this rate state. While things fail, a zone changes before its owner knows it. */
const waitsAt =
  (state: RateState): Rule =>
  (claim) =>
    waits(claim) && (!claim.isCalm || claim.zone()?.state === state);
/** The zone has this count. */
const counted: Rule = ({ values, isCalm, zone }) => {
  const now = zone();
  return (
    !isCalm ||
    (now !== null && values.notReady === String(now.notReady) && values.size?.split(" ", 1)[0] === String(now.size))
  );
};
/** An outcome as its writer published it, of the node or the pod of the explanation. */
const outcome =
  (name: string): Rule =>
  ({ truth, node, pod }) =>
    truth.outcomes.has(`${node} ${name}`) || truth.outcomes.has(`${pod} ${name}`);
/** A taint of the node that the pod tolerates for this long. */
const tolerated =
  (isSo: (seconds: number | null, claim: Claim) => boolean): Rule =>
  (claim) =>
    isBound(claim) &&
    someNode(claim, ({ spec }) =>
      (spec?.taints ?? []).some(
        (taint) =>
          `${taint.key}:${taint.effect}` === claim.values.taint &&
          somePod(claim, (pod) => isSo(secondsFor(pod, taint, claim.isComparing), claim)),
      ),
    );
/** The same for a taint that the node may lack: one that a grant will bring, or the opposite of the present one. */
const toleratesNamed =
  (name: "taint" | "opposite", isSo: (seconds: number | null, claim: Claim) => boolean): Rule =>
  (claim) => {
    const [key = "", effect = ""] = (claim.values[name] ?? "").split(":");
    return somePod(claim, (pod) => isSo(secondsFor(pod, { key, effect }, claim.isComparing), claim));
  };
const isForSeconds = (seconds: number | null, { values }: Claim) => String(seconds) === values.seconds;
/** A pod that has to leave: its node has a taint that the pod does not tolerate for ever, or is drained. */
const due: Rule = (claim) =>
  isBound(claim) &&
  someNode(claim, (node) =>
    claim.isDirect
      ? isDown(node)
      : (node.spec?.taints ?? []).some(
          (taint) =>
            taint.effect === "NoExecute" &&
            somePod(claim, (pod) => secondsFor(pod, taint, claim.isComparing) !== Number.POSITIVE_INFINITY),
        ),
  );
/** A pod that stays because its toleration of a taint of its node cannot be read. */
const unreadable: Rule = (claim) =>
  someNode(claim, ({ spec }) =>
    (spec?.taints ?? []).some(
      (taint) =>
        `${taint.key}:${taint.effect}` === claim.values.taint &&
        somePod(claim, (pod) => isUnreadable(pod, taint, claim.isComparing)),
    ),
  );
/** The same with its deadline, which is after its creation: a countdown begins with its pod at the earliest. */
const dueAt: Rule = (claim) =>
  due(claim) &&
  somePod(claim, (pod) =>
    (claim.ways?.(pod) ?? [pod]).some(
      ({ metadata }) => Date.parse(claim.values.at ?? "") >= Date.parse(metadata.creationTimestamp),
    ),
  );

/** A restored backup had put another node of this name in its place by then, so that none was missing. */
const wasReplaced: Rule = ({ truth, node, values }) => {
  const uids = truth.nodes.since(node, Number.NEGATIVE_INFINITY).flatMap((state) => state?.metadata.uid ?? []);
  return new Set(uids).size > 1 && values.detail?.includes("another node has this name") === true;
};

const RULES: Readonly<Record<SentenceName | PolicySentenceName, Rule>> = {
  ...POLICY_RULES,
  nodeGone: (claim) => nodes(claim).includes(null),
  nodeFoundGone: (claim) => nodes(claim).includes(null) || wasReplaced(claim),
  nodeUnobserved: notInCalm,
  nodeUnjudged: notInCalm,
  nodeOutdated: (claim) => !claim.isCalm && someNode(claim, (node) => shownReady(node) === claim.values.shown),
  nodeReady: (claim) => someNode(claim, (node) => readyOf(node) === "True"),
  nodeNotReady: (claim) => someNode(claim, (node) => readyOf(node) === "False"),
  nodeStarting: (claim) => someNode(claim, (node) => readyOf(node) === null),
  nodeUnknown: unknownSince,
  nodeUnknownByStatus: (claim) =>
    someNode(claim, (node) => inSeconds(conditionOf(node, "Ready")?.lastHeartbeatTime) === claim.values.heartbeat),
  nodeNeverPosted: (claim) =>
    someNode(claim, (node) => conditionOf(node, "Ready")?.reason === "NodeStatusNeverUpdated"),
  nodeUnknownNoHeartbeat: unknown,
  nodeUntainted: untainted,
  nodeTainted: (claim) =>
    someNode(claim, (node) => {
      const names = noExecuteNames(node);
      return names.length > 0 && names.every((name) => claim.values.taints?.includes(name));
    }),
  nodeTaintRemoved: () => false,
  nodeExcluded: always,
  leasePathBroken: notInCalm,
  nodeLeaseForeign: () => false,
  nodeLeaseShared: () => false,
  nodeBlind: notInCalm,
  nodeLeftToOthers: () => false,
  zoneState: counted,
  zoneQueue: counted,
  zoneSilent: notInCalm,
  queueUpstreams: () => false,
  requestShadowed: () => false,
  queueHalted: waitsAt("halted"),
  queueSmallZone: waitsAt("stopped"),
  queueNever: waitsAt("stopped"),
  queueUnknown: notInCalm,
  queueNotShown: (claim) => someNode(claim, (node) => !isDown(node)),
  queueMissing: notInCalm,
  queuePlace: waitsAt("running"),
  queueBehind: waitsAt("running"),
  queueTaints: (claim) => !claim.isDirect && waits(claim),
  queueDrains: (claim) => claim.isDirect && waits(claim),
  drainFrom: (claim) => claim.isDirect && waits(claim),
  drainOverdue: ({ isDirect, isCalm, overdueMs }) => isDirect && (!isCalm || overdueMs < REQUESTED_WITHIN_MS),
  drainEmpty: (claim) => claim.isDirect && waits(claim) && (!claim.isCalm || !hasPodsToDrain(claim)),
  requestOpen: ({ truth, node, pod }) => truth.requested.has(node) || truth.requested.has(pod),
  // In the calm the watch has long shown what was written, unless watches stay behind.
  requestWritten: (claim) => (!claim.isCalm || claim.isBehind === true) && outcome("ok")(claim),
  requestDenied: outcome("denied"),
  requestThrottled: outcome("throttled"),
  requestFailed: outcome("failed"),
  requestUnknown: outcome("unknown"),
  requestConflict: outcome("conflict"),
  requestRefused: outcome("refused"),
  requestGone: outcome("gone"),
  retryAt: always,
  retrySoon: always,
  retryRequested: always,
  retryGrant: always,
  podUnread: notInCalm,
  podLastKnown: notInCalm,
  podUnnamed: notInCalm,
  podGone: ({ truth, pod, podSinceMs }) => truth.pods.since(pod, podSinceMs).includes(null),
  podTerminating: (claim) => somePod(claim, (pod) => deletedAt(pod) === claim.values.since),
  // Where the reply to a deletion was lost, that of another client counts as Vigil's (decision 16).
  podOurs: ({ truth, pod, podSinceMs }) => truth.isVigils(pod, podSinceMs) || truth.outcomes.has(`${pod} unknown`),
  podDisrupted: (claim) =>
    somePod(claim, ({ status }) => (status?.conditions ?? []).some(({ reason }) => reason === claim.values.reason)),
  podFinalizers: (claim) => somePod(claim, ({ metadata }) => (metadata.finalizers?.length ?? 0) > 0),
  podNodeSilent: unknown,
  podNodeGone: (claim) => nodes(claim).includes(null),
  podEnding: (claim) => somePod(claim, (pod) => deletedAt(pod) !== null),
  podUnbound: (claim) => somePod(claim, ({ spec }) => spec.nodeName === undefined),
  podCompleted: (claim) => somePod(claim, ({ status }) => status?.phase === claim.values.phase),
  podDue: dueAt,
  podDueNow: due,
  podOverdue: dueAt,
  // The clocks of machines are off as the seed decides, and no process knows by how much exactly.
  podClockBehind: always,
  podOutage: notInCalm,
  podOutageUndated: notInCalm,
  // That countdowns are late enough after an outage, and not too late, is checked with every deletion.
  podOutageOver: due,
  podOutageGrace: due,
  podOutageUnknown: due,
  podOutageUnwritten: due,
  podTolerates: tolerated(isForSeconds),
  podToleratesOpposite: (claim) =>
    tolerated((seconds) => seconds !== null)(claim) && toleratesNamed("opposite", isForSeconds)(claim),
  podContinues: (claim) => due(claim) && somePod(claim, (pod) => isForSome(pod, claim)),
  podUntolerated: tolerated((seconds) => seconds === null),
  podUntoleratedNow: due,
  podTainted: due,
  podDrained: (claim) => claim.isDirect && waits(claim),
  // A countdown stops with the clock of a suspended machine (decision 2).
  podUnrequested: ({ isCalm, overdueMs, lostMs }) => !isCalm || overdueMs < REQUESTED_WITHIN_MS + lostMs,
  podMirror: (claim) => due(claim) && somePod(claim, isMirror),
  podRecreated: due,
  podForever: (claim) =>
    someNode(claim, ({ spec }) =>
      (spec?.taints ?? []).some(
        (taint) =>
          taint.effect === "NoExecute" &&
          somePod(claim, (pod) => secondsFor(pod, taint, claim.isComparing) === Number.POSITIVE_INFINITY),
      ),
    ),
  podUnreadable: unreadable,
  podComputed: due,
  podComputedNow: due,
  podSafe: (claim) => isBound(claim) && untainted(claim),
  podUndrained: (claim) => claim.isDirect && someNode(claim, (node) => readyOf(node) === "True" || !claim.isCalm),
  podNotEvicted: (claim) => somePod(claim, isOfDaemonSet),
  podUnobserved: notInCalm,
  podWaits: waits,
  podThenFor: toleratesNamed("taint", isForSeconds),
  podThenNot: toleratesNamed("taint", (seconds) => seconds === null),
  podThenUnreadable: (claim) => {
    const [key = "", effect = ""] = (claim.values.taint ?? "").split(":");
    return somePod(claim, (pod) => isUnreadable(pod, { key, effect }, claim.isComparing));
  },
  podThenForever: toleratesNamed("taint", (seconds) => seconds === Number.POSITIVE_INFINITY),
};

/** Whether what a sentence says is true. A sentence without a rule is false: explain says it of no node and no pod. */
export function isTrue(claim: Claim): boolean {
  return (RULES as Readonly<Record<string, Rule>>)[claim.name]?.(claim) ?? false;
}

/** When a pod's deletion was accepted, as the API writes instants; null while it is not terminating. */
function deletedAt({ metadata }: ExplainedPod): string | null {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp === undefined) return null;
  return `${new Date(Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000).toISOString().slice(0, 19)}Z`;
}

function isForSome({ spec }: ExplainedPod, { values }: Claim): boolean {
  return (spec.tolerations ?? []).some(({ tolerationSeconds }) => String(tolerationSeconds) === values.seconds);
}
