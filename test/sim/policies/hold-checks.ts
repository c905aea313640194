/**
 * NoSchedule taints of nodes that are ready again: they stay for healthyDelay and while a node is flapping, and not
 * longer. NoExecute taints never wait to go. They come only once a node has reported for unhealthyDelay that it is not
 * ready.
 */
import { viewLagMs } from "../fault-bounds.ts";
import { BrokenInvariant, type CheckedNode, conditionOf, taintName } from "../invariants.ts";
import { policiesOf } from "./api-policies.ts";
import type { Flapping } from "./policy-state.ts";
import { type PolicyView, RECOVERY_MS, REPEATED_MS, SinceWhen } from "./policy-view.ts";

/** How late a node may be healed: two requests, and a pulse where a process has just begun. */
const HEALED_MS = 5_000;
/** The API stamps in whole seconds. */
const STAMP_MS = 1_500;
/** A kubelet's clock may be this far off before an owner distinguishes a transition from the last recorded one. */
const CLOCKS_APART_MS = 10_000;
/** The annotation with the transitions of a node, as a JSON list. */
const RECORD = "vigil.v1/ready-transitions";
/** From a transition to its record on the node. */
const RECORDED_MS = 3_000;
/** Transitions that are older count for no policy of a run. */
const KEPT_MS = 600_000;

/** A state of a ready node, and for how long it had been ready by its kubelet's stamps. */
interface Post {
  readonly atMs: number;
  readonly agedMs: number;
}

/** Follows the readiness of all nodes. */
export class HoldChecks {
  readonly #view: PolicyView;
  /** Since when a node has been ready with a taint that has to go, by node and effect. */
  readonly #unhealed = new SinceWhen();
  readonly #readySince = new SinceWhen();
  /** When the Ready condition of a node changed to or from True. */
  readonly #transitions = new Map<string, number[]>();
  /** The transitions that the annotation of a node has shown. */
  readonly #written = new Map<string, Set<number>>();
  readonly #status = new Map<string, string>();
  /** The posts of a node since it has been ready, the first one first. */
  readonly #posts = new Map<string, readonly Post[]>();
  /** Since when a node that was ready has reported that it is not. */
  readonly #unhealthySince = new SinceWhen();

  constructor(view: PolicyView) {
    this.#view = view;
  }

  /** Records a change of a node. */
  node(node: CheckedNode, isGone: boolean): void {
    const { nowMs } = this.#view;
    const { name } = node.metadata;
    const status = isGone ? undefined : conditionOf(node, "Ready")?.status;
    const before = this.#status.get(name);
    if (isGone) this.#written.delete(name);
    else this.#noteWritten(node);
    if (isGone) this.#transitions.delete(name);
    else if (before !== undefined && status !== undefined && (before === "True") !== (status === "True")) {
      this.#transitions.set(name, [...this.#transitionsOf(name, nowMs - KEPT_MS), nowMs]);
    }
    if (status === undefined) this.#status.delete(name);
    else this.#status.set(name, status);
    this.#readySince.note(name, status === "True", nowMs);
    if (status === "True") this.#posts.set(name, [...(this.#posts.get(name) ?? []), postOf(node, nowMs)]);
    else this.#posts.delete(name);
    // A grant to a silent node may be under way when its kubelet is back and reports that it is not ready.
    const wasReady = before === "True" || this.#unhealthySince.of(name) !== null;
    this.#unhealthySince.note(name, status === "False" && wasReady, nowMs);
    for (const effect of ["NoExecute", "NoSchedule"]) {
      const isLeft = status === "True" && sickTaints(node).some((taint) => taint.effect === effect);
      this.#unhealed.note(`${name}: ${effect}`, isLeft, nowMs);
    }
  }

  /** Vigil wrote to a node. */
  wrote(before: CheckedNode, after: CheckedNode): void {
    const had = sickTaints(before).filter(({ effect }) => effect === "NoSchedule");
    const has = new Set(sickTaints(after).map(taintName));
    const isHealed = conditionOf(after, "Ready")?.status === "True" && had.some((taint) => !has.has(taintName(taint)));
    if (isHealed) this.#checkEarly(after);
  }

  /** A node with one policy was admitted for eviction: not before `unhealthyDelay` was over. */
  onAdmitted(policy: string, node: CheckedNode): void {
    const { name } = node.metadata;
    const { nowMs, skewMs } = this.#view;
    const sinceMs = this.#unhealthySince.of(name);
    const delays = this.#view.said(policy, ({ unhealthyDelayMs }) => unhealthyDelayMs);
    const isOfReadiness = this.#view.isDirect || sickTaints(node).some(({ effect }) => effect === "NoExecute");
    if (delays === null || sinceMs === null || !isOfReadiness) return;
    this.#view.run.count("delayed node condemned");
    const earlyMs = sinceMs + Math.min(...delays) - nowMs - skewMs - STAMP_MS;
    if (earlyMs <= 0) return;
    throw new BrokenInvariant(`${name} was admitted ${earlyMs} ms before unhealthyDelay was over`);
  }

  /** Checks what should have happened by now. */
  look(): void {
    const { nowMs, isExact, swarm, disturbedMs } = this.#view;
    const lateMs = HEALED_MS + (isExact ? 0 : REPEATED_MS + viewLagMs(swarm));
    for (const key of this.#unhealed.keys()) {
      const [name = "", effect] = key.split(": ");
      const dueMs = effect === "NoSchedule" ? this.#latestMs(name) : Number.NEGATIVE_INFINITY;
      const fromMs = Math.max(this.#unhealed.of(key) ?? nowMs, dueMs, disturbedMs + RECOVERY_MS);
      const tooLateMs = nowMs - fromMs - lateMs;
      if (tooLateMs > 0) throw new BrokenInvariant(`${key} of a ready node was still there ${tooLateMs} ms too late`);
    }
  }

  /** The policy of a node, as every process knows it, keeps its NoSchedule taint on for that long at least. */
  #checkEarly(node: CheckedNode): void {
    const { name } = node.metadata;
    const { nowMs, skewMs } = this.#view;
    const policy = this.#view.onlyPolicy(this.#view.poolOf(name));
    if (policy === null) return;
    const delays = this.#view.said(policy, ({ healthyDelayMs }) => healthyDelayMs);
    const readySince = this.#readySince.of(name) ?? nowMs;
    const earlyMs = (dueMs: number): number => dueMs - nowMs - skewMs - STAMP_MS;
    if (delays !== null && earlyMs(readySince + Math.min(...delays)) > 0) {
      throw new BrokenInvariant(
        `${name}: NoSchedule went after ${nowMs - readySince} ms, before healthyDelay was over`,
      );
    }
    const flapping = this.#view.steady(policy, (state) => state.flapping, this.#view.knownMs);
    const recorded = this.#recorded(name, policy);
    const heldMs = flapping === null ? null : heldUntil(recorded, strict(flapping), (atMs) => this.#seenMs(atMs));
    // An owner that takes over reads the last transition from the kubelet's stamp.
    if (heldMs === null || (!this.#view.isExact && this.#view.swarm.faults.has("wrongClocks"))) return;
    this.#view.run.count("node held for flapping");
    if (earlyMs(heldMs) > 0) throw new BrokenInvariant(`${name}: NoSchedule went while the node was flapping`);
  }

  /** The transitions that a process must know: it ran or can read them, and the policy required them. */
  #recorded(name: string, policy: string): number[] {
    const { nowMs, unknownMs, isExact } = this.#view;
    const apartMs = isExact ? STAMP_MS : CLOCKS_APART_MS + STAMP_MS;
    const recorded = this.#transitionsOf(name, nowMs - KEPT_MS).filter((atMs) => {
      if (!this.#isWritten(name, atMs) && this.#view.wasDisturbed(atMs - RECOVERY_MS, atMs + RECORDED_MS)) return false;
      return this.#view.steady(policy, ({ flapping }) => flapping, atMs - unknownMs) !== null;
    });
    return recorded.filter((atMs, index) => atMs - (recorded[index - 1] ?? Number.NEGATIVE_INFINITY) > apartMs);
  }

  /** Whether the node's annotation has shown a transition. If the process ends afterwards, others can still read it. */
  #isWritten(name: string, atMs: number): boolean {
    return [...(this.#written.get(name) ?? [])].some((at) => Math.abs(at - atMs) <= STAMP_MS);
  }

  #noteWritten({ metadata: { name, annotations } }: CheckedNode): void {
    const text = annotations?.[RECORD];
    if (text === undefined) return;
    const written = this.#written.get(name) ?? new Set();
    for (const at of JSON.parse(text) as readonly string[]) written.add(Date.parse(at));
    this.#written.set(name, written);
  }

  /**
   * When the owner that acts now observed a transition, at the latest. The owner dates it by that, because kubelets'
   * clocks may be wrong. So a watch that lags may move a transition out of the window (seed 651124823).
   */
  #seenMs(atMs: number): number {
    const { nowMs, isExact, swarm } = this.#view;
    return isExact ? atMs : Math.min(nowMs, atMs + viewLagMs(swarm));
  }

  /** Until when any policy that the node has had may keep its NoSchedule taint on. */
  #latestMs(name: string): number {
    const { nowMs, api } = this.#view;
    const states = api.since(nowMs - KEPT_MS).flatMap((each) => policiesOf(each, this.#view.poolOf(name)));
    const delayMs = Math.max(0, ...states.map(({ healthyDelayMs }) => healthyDelayMs ?? 0));
    const transitions = this.#transitionsOf(name, nowMs - KEPT_MS);
    const held = states.map(({ flapping }) => (flapping === null ? null : heldUntil(transitions, loose(flapping))));
    const heldMs = Math.max(...held.map((untilMs) => untilMs ?? Number.NEGATIVE_INFINITY));
    return Math.max((this.#readySince.of(name) ?? nowMs) + delayMs, this.#foundMs(name) + delayMs, heldMs);
  }

  /**
   * The latest instant to which a process that has started since dates the last transition of a ready node. It has only
   * the kubelet's two stamps, so the node has been ready for as long as it had been at the last post of its status.
   */
  #foundMs(name: string): number {
    const posts = this.#posts.get(name) ?? [];
    const starts = this.#view.disturbances
      .map((atMs) => atMs + RECOVERY_MS)
      .filter((ms) => ms > (posts[0]?.atMs ?? ms));
    const foundMs = starts.map((ms) => {
      return ms - Math.max(0, ...posts.filter(({ atMs }) => atMs <= ms - RECOVERY_MS).map(({ agedMs }) => agedMs));
    });
    return Math.max(Number.NEGATIVE_INFINITY, ...foundMs);
  }

  #transitionsOf(name: string, fromMs: number): number[] {
    return (this.#transitions.get(name) ?? []).filter((atMs) => atMs >= fromMs);
  }
}

function postOf(node: CheckedNode, atMs: number): Post {
  const { lastTransitionTime, lastHeartbeatTime } = conditionOf(node, "Ready") ?? {};
  const [transitionMs, postedMs] = [Date.parse(lastTransitionTime ?? ""), Date.parse(lastHeartbeatTime ?? "")];
  // A clock that was set in between, from before the node existed, shows no age.
  const isSet = transitionMs < Date.parse(node.metadata.creationTimestamp ?? "");
  return { atMs, agedMs: isSet ? 0 : postedMs - transitionMs - STAMP_MS || 0 };
}

/** Stamps on a node are whole seconds, so its window may be a second wider than the API's. */
function loose(flapping: Flapping): Flapping {
  return { ...flapping, windowMs: flapping.windowMs + STAMP_MS };
}

/** The same for the transitions that count in any case. */
function strict(flapping: Flapping): Flapping {
  return { ...flapping, windowMs: flapping.windowMs - STAMP_MS };
}

/**
 * Until when a node with these transitions is held down: for holdDown after the last of too many within the window.
 * `seenMs` is when its owner observed the last one of them.
 */
export function heldUntil(
  transitions: readonly number[],
  { transitions: most, windowMs, holdDownMs }: Flapping,
  seenMs: (atMs: number) => number = (atMs) => atMs,
): number | null {
  const lasts = transitions.filter((atMs, index) => {
    const firstMs = transitions[index - most + 1];
    return firstMs !== undefined && seenMs(atMs) - firstMs < windowMs;
  });
  const lastMs = lasts.at(-1);
  return lastMs === undefined ? null : lastMs + holdDownMs;
}

function sickTaints({ spec }: CheckedNode) {
  return (spec?.taints ?? []).filter(({ key }) => key.endsWith("/not-ready") || key.endsWith("/unreachable"));
}
