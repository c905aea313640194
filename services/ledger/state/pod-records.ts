/** The pods that were judged or requested to be deleted, and how many of them are pending. */
import type { Outcome } from "../../../protocols/done.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import type { RequestOutcome } from "./node-requests.ts";

/** Pods kept at once; beyond it the least recently mentioned are dropped. */
const PODS_MAX = 100_000;
/** How long a pod is kept after its deadline without a message: the taint-manager repeats a request every minute. */
export const SETTLED_KEPT_MS = 300_000;

/** What is known of a pod. */
export interface PodRecord {
  judged: BodyOf<"judged.pod"> | null;
  asked: BodyOf<"asked.eviction"> | null;
  /** Whether its deletion was sent to the API server, and whether it was accepted. */
  order: "none" | "sent" | "done";
  /** Outcome of the last try to delete it; null before the first. Later tries on a deleted pod do not change it. */
  outcome: Outcome | null;
  /** When its deletion was last requested, on the requester's wall clock. */
  askedAt: number | null;
  /** The same outcome with its reason, and the pod that the try was about. */
  last: (RequestOutcome & { readonly namespace: string; readonly name: string; readonly node: string }) | null;
  /** When it was last mentioned, on the sender's wall clock. */
  publishedAt: number;
}

const UNKNOWN: Omit<PodRecord, "publishedAt"> = {
  judged: null,
  asked: null,
  order: "none",
  outcome: null,
  askedAt: null,
  last: null,
};

/** Pods by uid. */
export class PodRecords {
  readonly #pods = new BoundedMap<string, PodRecord>(PODS_MAX, (pod) => this.#count(pod, -1));
  #pending = 0;

  get pendingCount(): number {
    return this.#pending;
  }

  get(uid: string): PodRecord | undefined {
    return this.#pods.get(uid);
  }

  /** The pod last mentioned under that name. Scans all pods, for a person's question. */
  named(namespace: string, name: string): PodRecord | undefined {
    let found: PodRecord | undefined;
    for (const pod of this.#pods.values()) {
      const named = targetOf(pod);
      if (named?.name === name && named.namespace === namespace) found = pod;
    }
    return found;
  }

  *pending(): Generator<PodRecord> {
    for (const pod of this.#pods.values()) if (isPending(pod)) yield pod;
  }

  update(uid: string, changes: Partial<PodRecord> & Pick<PodRecord, "publishedAt">): void {
    const known = this.#pods.get(uid);
    if (known !== undefined) this.#count(known, -1);
    const pod = { ...UNKNOWN, ...known, ...changes };
    this.#pods.set(uid, pod);
    this.#count(pod, 1);
  }

  drop(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.#count(pod, -1);
    this.#pods.delete(uid);
  }

  /**
   * Forgets pods without a message long after their deadline; `nowMs` is wall-clock time. A deleted pod is kept while
   * its node is silent, because it stays terminating until a kubelet ends its containers. So is one that shadow mode
   * would have deleted, and a pending one while its node is frozen: nothing is published about it meanwhile.
   */
  forgetSettled(
    nowMs: number,
    isSilent: (node: string) => boolean,
    isFrozen: (judged: PodRecord["judged"], node: string) => boolean,
  ): void {
    for (const [uid, pod] of this.#pods.entries()) {
      const isEnding = (pod.order === "done" && pod.outcome !== "gone") || pod.outcome === "shadowed";
      const node = targetOf(pod)?.node ?? "";
      const isKept = (isEnding && isSilent(node)) || (isPending(pod) && isFrozen(pod.judged, node));
      if (!isKept && lastTimeOf(pod) + SETTLED_KEPT_MS < nowMs) this.drop(uid);
    }
  }

  #count(pod: PodRecord, by: number): void {
    if (isPending(pod)) this.#pending += by;
  }
}

/** Whether an outcome is the first that shows the deletion of a pod to be accepted: it counts once. */
export function isFirstDeletion({ ask, outcome, uid }: BodyOf<"done.write">, before: Pick<PodRecords, "get">): boolean {
  return ask === "asked.eviction" && outcome === "ok" && before.get(uid)?.order !== "done";
}

/** The name and node of a pod. */
export function targetOf({ judged, asked, last }: PodRecord): {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
} | null {
  return judged ?? asked ?? last;
}

function isPending(pod: PodRecord): boolean {
  if (pod.order === "done" || pod.outcome === "shadowed") return false;
  return pod.judged !== null || pod.asked !== null;
}

/** The deadline of a pending pod or its last message, whichever is later. */
function lastTimeOf(pod: PodRecord): number {
  const deadlineAt = isPending(pod) ? (pod.asked?.deadlineAt ?? pod.judged?.deadlineAt) : null;
  return Math.max(deadlineAt ?? pod.publishedAt, pod.publishedAt);
}
