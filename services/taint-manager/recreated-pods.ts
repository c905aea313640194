/**
 * Pods that are created again on the node they were evicted from: a DaemonSet whose pods do not tolerate the taint, a
 * Deployment with `nodeName`. Each has its own countdown, and without a pause one that tolerates nothing would be
 * deleted and created for ever, as fast as the API server and the controller are.
 *
 *   first wave: at once ── recreated: at once ── recreated: 1 s later ── 2 s ── 4 s ── … ── 60 s
 *
 * A minute costs the cluster nothing and is what a pod of a crash loop waits for at most after some restarts.
 */
import type { ObservedPod } from "../../protocols/objects.ts";
import { BoundedMap } from "../structures/bounded-map.ts";
import { retryPauseMs } from "../structures/retry-schedule.ts";
import type { Now } from "./taint-manager.policy.ts";

/** The pauses between deletions of recreated pods of one owner, in milliseconds. */
const PAUSES = { baseMs: 1000, maxMs: 60_000 };
/** After so long without an eviction an owner begins again without a pause, in milliseconds. */
const QUIET_MS = 600_000;
/** How far the clocks of API server and process may lie apart, in milliseconds, until a new pod counts as old. */
const CLOCKS_APART_MS = 2000;
/** Owners of one node beyond this are forgotten, the one evicted least recently first. */
const OWNERS_MAX = 1000;

/** The evictions of one owner's pods from one node. */
interface Owner {
  /** When the first was requested, on the API's clock. */
  readonly firstAt: number;
  /** When the last was requested, on the monotonic clock. */
  lastMs: number;
  /** How many of them were of recreated pods. */
  recreated: number;
}

/** The owners of pods that were evicted from one node. */
export class RecreatedPods {
  readonly #owners = new BoundedMap<string, Owner>(OWNERS_MAX);

  /** How many recreated pods of the same owner were evicted, and how long this one waits; null for no pause. */
  pauseOf(pod: ObservedPod, now: Now): { readonly deletions: number; readonly waitMs: number } | null {
    const owner = this.#ownerOf(pod, now);
    if (owner === undefined || owner.recreated === 0 || !isRecreated(pod, owner)) return null;
    const waitMs = owner.lastMs + retryPauseMs(owner.recreated, PAUSES) - now.monotonicMs;
    return waitMs > 0 ? { deletions: owner.recreated, waitMs } : null;
  }

  /** Counts the first request for the eviction of a pod. */
  onEviction(pod: ObservedPod, now: Now): void {
    if (pod.ownerUid === undefined) return;
    const owner = this.#ownerOf(pod, now);
    if (owner === undefined) {
      this.#owners.set(pod.ownerUid, { firstAt: now.wallMs, lastMs: now.monotonicMs, recreated: 0 });
    } else if (isRecreated(pod, owner)) {
      owner.recreated += 1;
      owner.lastMs = now.monotonicMs;
    }
  }

  #ownerOf({ ownerUid = "" }: ObservedPod, { monotonicMs }: Now): Owner | undefined {
    const owner = this.#owners.get(ownerUid);
    if (owner === undefined || monotonicMs - owner.lastMs <= QUIET_MS) return owner;
    this.#owners.delete(ownerUid);
    return undefined;
  }
}

function isRecreated({ createdAt }: ObservedPod, { firstAt }: Owner): boolean {
  return createdAt >= firstAt - CLOCKS_APART_MS;
}
