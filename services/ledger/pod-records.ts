/** The pods somebody has judged or asked to delete, and how many of them still wait. It follows and never judges. */
import type { Outcome } from "../../protocols/done.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { BoundedMap } from "../platform/structures/bounded-map.ts";
import type { RequestOutcome } from "./node-requests.ts";

/** Pods remembered at once; beyond it the ones longest unmentioned are forgotten. */
const PODS_MAX = 100_000;
/** A pod nobody speaks of for so long after its time is moot: the taint-manager asks at least every minute. */
export const SETTLED_KEPT_MS = 300_000;

/** What is known of a pod. */
export interface PodRecord {
  judged: BodyOf<"judged.pod"> | null;
  asked: BodyOf<"asked.eviction"> | null;
  /** Whether its deletion was ordered at the API, and whether that came about. */
  order: "none" | "sent" | "done";
  /** What came of the last try to delete it; null before the first. A pod that is gone stays as it went. */
  outcome: Outcome | null;
  /** When its deletion was last requested, on the asker's wall clock; null before. */
  askedAt: number | null;
  /** What came of the last try, and of which pod; null before the first. A pod that is gone keeps how it went. */
  last: (RequestOutcome & { readonly namespace: string; readonly name: string; readonly node: string }) | null;
  /** When it was last mentioned, on the teller's wall clock. */
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

  /** How many wait for their deletion. */
  get pendingCount(): number {
    return this.#pending;
  }

  get(uid: string): PodRecord | undefined {
    return this.#pods.get(uid);
  }

  /** The pod last mentioned under that name. It looks through all, for a person's question. */
  named(namespace: string, name: string): PodRecord | undefined {
    let found: PodRecord | undefined;
    for (const pod of this.#pods.values()) {
      const named = targetOf(pod);
      if (named?.name === name && named.namespace === namespace) found = pod;
    }
    return found;
  }

  /** Every pod that waits for its deletion. */
  *pending(): Generator<PodRecord> {
    for (const pod of this.#pods.values()) if (isPending(pod)) yield pod;
  }

  /** Adds what was told of a pod to what is known. */
  update(uid: string, changes: Partial<PodRecord> & Pick<PodRecord, "publishedAt">): void {
    const known = this.#pods.get(uid);
    if (known !== undefined) this.#count(known, -1);
    const pod = { ...UNKNOWN, ...known, ...changes };
    this.#pods.set(uid, pod);
    this.#count(pod, 1);
  }

  /** Forgets a pod. */
  drop(uid: string): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    this.#count(pod, -1);
    this.#pods.delete(uid);
  }

  /**
   * Forgets the pods that nobody has spoken of long after their time; `nowMs` is the wall clock's. One that was deleted
   * stays terminating for as long as its node is silent: nobody else ends its containers.
   */
  forgetSettled(nowMs: number, isSilent: (node: string) => boolean): void {
    for (const [uid, pod] of this.#pods.entries()) {
      const isKept = pod.order === "done" && pod.outcome !== "gone" && isSilent(targetOf(pod)?.node ?? "");
      if (!isKept && lastTimeOf(pod) + SETTLED_KEPT_MS < nowMs) this.drop(uid);
    }
  }

  #count(pod: PodRecord, by: number): void {
    if (isPending(pod)) this.#pending += by;
  }
}

/** The pod's name and node, by whatever named it last. */
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

/** The deadline of a pod that waits, or when it was last spoken of, whichever is later. */
function lastTimeOf(pod: PodRecord): number {
  const deadlineAt = isPending(pod) ? (pod.asked?.deadlineAt ?? pod.judged?.deadlineAt) : null;
  return Math.max(deadlineAt ?? pod.publishedAt, pod.publishedAt);
}
