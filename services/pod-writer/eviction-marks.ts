/**
 * Sets the condition DisruptionTarget of pods that stay after all to False. A pod is marked before it is deleted; if a
 * webhook denies the deletion until the taint is gone, the pod stays with a condition that says it is being deleted.
 *
 *   marked ──▶ deletion accepted: settled
 *          └─▶ deletion failed ── each minute ──▶ read live ── no taint evicts it any more ──▶ condition False
 *
 * After a restart the next attempt to delete a pod finds its mark and notes it again. A pod that no process attempts to
 * delete any more keeps its mark for two minutes: then upstream's disruption controller clears it (1.26 and newer,
 * stalePodDisruptionTimeout). Pods of older API servers are not marked.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode, ObservedPod } from "../../protocols/objects.ts";
import { type Io, type KubeObject, type ReadReply, type Timer, Urgency } from "../../protocols/ports.ts";
import { apiTime } from "../domain/api-time.ts";
import { evictionOf, noExecuteTaints, type TolerationRules } from "../domain/toleration.ts";
import { liveNode } from "../platform/kube/watch/projection.ts";
import type { ConditionPatch } from "../platform/kube/write/sent-bodies.ts";
import { BoundedMap } from "../structures/bounded-map.ts";
import { listOf, recordOf } from "../structures/json.ts";
import { DISRUPTION_TARGET, type LivePod, livePod, type StatusPatch } from "./pod-writer.policy.ts";

/** Pods beyond this are forgotten, the one marked least recently first. */
const PODS_MAX = 10_000;
/** How long after a mark or a check the next check comes, in milliseconds. */
const CHECK_MS = 60_000;
/** Pods checked at once; the others follow a second later. */
const CHECKS_MAX = 50;
const NEXT_CHECKS_MS = 1000;

type Target = Pick<BodyOf<"asked.eviction">, "namespace" | "name" | "uid" | "node">;

/** A marked pod and when it is checked next, on the monotonic clock. */
interface MarkedPod {
  readonly target: Target;
  dueMs: number;
}

/** Marked pods whose deletion was not accepted. */
export class EvictionMarks {
  readonly #io: Io;
  readonly #pods = new BoundedMap<string, MarkedPod>(PODS_MAX);
  #timer: Timer | null = null;

  constructor(io: Io) {
    this.#io = io;
  }

  /** Notes a pod that carries the mark and is about to be deleted. */
  note({ namespace, name, uid, node }: Target): void {
    const known = this.#pods.get(uid);
    const dueMs = known?.dueMs ?? this.#io.clock.monotonicMs() + CHECK_MS;
    if (known === undefined) this.#pods.set(uid, { target: { namespace, name, uid, node }, dueMs });
    this.#arm(CHECK_MS);
  }

  /** Forgets a pod whose deletion was accepted. */
  settle(uid: string): void {
    this.#pods.delete(uid);
    if (this.#pods.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  stop(): void {
    this.#pods.clear();
    this.#timer?.cancel();
  }

  #arm(delayMs: number): void {
    this.#timer ??= this.#io.clock.after(delayMs, () => {
      this.#timer = null;
      this.#checkDue();
    });
  }

  #checkDue(): void {
    const nowMs = this.#io.clock.monotonicMs();
    const due = [...this.#pods.values()].filter(({ dueMs }) => dueMs <= nowMs);
    for (const pod of due.slice(0, CHECKS_MAX)) {
      pod.dueMs = nowMs + CHECK_MS;
      this.#check(pod.target);
    }
    if (this.#pods.size > 0) this.#arm(due.length > CHECKS_MAX ? NEXT_CHECKS_MS : NEXT_CHECKS_MS * 10);
  }

  #check(target: Target): void {
    const { namespace, name, node } = target;
    this.#read({ kind: "Pod", namespace, name, node }, target, (object) => {
      const pod = livePod(object);
      const patch = pod === null || pod.pod.uid !== target.uid ? null : this.#patchOf(pod);
      if (pod === null || patch === null) this.settle(target.uid);
      else this.#read({ kind: "Node", namespace: "", name: node }, target, (read) => this.#decide(read, pod, patch));
    });
  }

  #patchOf(pod: LivePod): StatusPatch | null {
    return clearedMark(pod, apiTime(this.#io.clock.wallMs()));
  }

  #decide(object: KubeObject, { pod, node }: LivePod, body: StatusPatch): void {
    const { kube, policies, profile } = this.#io;
    const live = liveNode(object, policies)?.() ?? null;
    const comparisonOperators = profile.tolerationComparisonOperators;
    if (live === null || !isCancelled(live, pod, { comparisonOperators })) return;
    const ref = { kind: "Pod", namespace: pod.namespace, name: pod.name, node } as const;
    const where = { ref, urgency: Urgency.eviction, subresource: "status" } as const;
    kube.write({ ...where, verb: "patch", patch: "strategic", body }, ({ outcome }) => {
      if (outcome === "ok" || outcome === "gone") this.settle(pod.uid);
    });
  }

  /** Reads an object. If it is gone, its pod is forgotten. A failed read is repeated with the next check. */
  #read(ref: Parameters<Io["kube"]["read"]>[0], { uid }: Target, found: (object: KubeObject) => void): void {
    const onReply = (reply: ReadReply): void => {
      if (reply.outcome === "gone") this.settle(uid);
      else if (reply.outcome === "ok" && this.#pods.has(uid)) found(reply.object);
    };
    this.#io.kube.read(ref, onReply, { urgency: Urgency.eviction, stepsBefore: 2 });
  }
}

/** Whether no taint of its node evicts a pod, now or later. */
function isCancelled(node: ObservedNode, pod: ObservedPod, rules: TolerationRules): boolean {
  const taints = noExecuteTaints(node.taints).map((taint) => ({ taint, since: 0 }));
  return evictionOf(taints, pod.tolerations, 0, rules) === null;
}

/** Sets Vigil's own mark to False, in this version of the pod. Null if there is none, or the pod is terminating. */
function clearedMark({ pod, resourceVersion, object }: LivePod, now: string): StatusPatch | null {
  const { type, status, reason } = DISRUPTION_TARGET;
  const conditions = listOf(recordOf(object.status).conditions).map(recordOf);
  const isMarked = conditions.some((each) => each.type === type && each.status === status && each.reason === reason);
  if (!isMarked || pod.deletionAt !== null) return null;
  const message = "Taint manager: the eviction was called off";
  const condition: ConditionPatch = { type, status: "False", reason, message, lastTransitionTime: now };
  return { metadata: { uid: pod.uid, resourceVersion }, status: { conditions: [condition] } };
}
