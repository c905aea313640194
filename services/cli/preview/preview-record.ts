/** What the services of a preview publish, as far as its report needs it. Spans are in milliseconds after its start. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode, TaintId } from "../../../protocols/objects.ts";
import type { Bus, Clock } from "../../../protocols/ports.ts";
import { waitingTaintOf } from "../../domain/judgement.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { ownTaintsOf } from "../../zone/zone.policy.ts";

/** A node, as it is shown and judged last. */
export interface RecordedNode {
  readonly shown: ObservedNode;
  readonly judged: BodyOf<"judged.node"> | null;
  /** When it became Unknown, and when it first carried a NoExecute taint of Vigil's or was drained; null for never. */
  readonly unknownMs: number | null;
  readonly admittedMs: number | null;
}

/** How long a pod tolerates a taint; null for not at all, or for ever. */
export interface RecordedToleration {
  readonly taint: TaintId;
  readonly seconds: number | null;
}

/** A pod about whose eviction something was decided or done. */
export interface RecordedPod {
  /** The end of its countdown, in epoch milliseconds; null without one. */
  readonly deadlineAt: number | null;
  /** What decides its eviction; null for nothing. */
  readonly toleration: RecordedToleration | null;
  /** When its eviction was requested first, and when it was refused first; null for never. */
  readonly requestedMs: number | null;
  readonly refusedMs: number | null;
  /** Null while it is not deleted. */
  readonly deletedMs: number | null;
  /** The field of its policy whose rate it waited for; null for none. */
  readonly waitedFor: string | null;
}

/** A pod about whose eviction nothing was decided. */
export const NO_POD: RecordedPod = {
  deadlineAt: null,
  toleration: null,
  requestedMs: null,
  refusedMs: null,
  deletedMs: null,
  waitedFor: null,
};
/** A permit that comes so soon after the request, in milliseconds, was not waited for. */
const AT_ONCE_MS = 1000;

/** The record of one preview. */
export class PreviewRecord {
  readonly nodes = new Map<string, RecordedNode>();
  readonly pods = new Map<string, RecordedPod>();
  /** What each zone announced first and last. */
  readonly zones = new Map<string, Readonly<Record<"first" | "last", BodyOf<"judged.zone">>>>();
  readonly limits = new Map<string, BodyOf<"judged.limits">>();
  readonly #evictions = new Map<string, BodyOf<"judged.evictions">>();
  /** When something was written last. */
  changedMs = 0;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #beganAt: number;

  /** It records what happens from `beganAt` on, and how nodes looked before. */
  constructor(bus: Bus, clock: Pick<Clock, "wallMs">, beganAt: number) {
    this.#clock = clock;
    this.#beganAt = beganAt;
    bus.subscribe("observed.node", "all", ({ body }) => this.#onNode(body));
    bus.subscribe("judged.node", "all", ({ body }) => this.#update(body.node, { judged: body }));
    bus.subscribe("judged.zone", "all", ({ body }) => {
      this.zones.set(body.zone, { first: this.zones.get(body.zone)?.first ?? body, last: body });
    });
    bus.subscribe("judged.limits", "all", ({ body }) => this.limits.set(body.policy, body));
    bus.subscribe("judged.pod", "all", ({ body }) => this.#onPod(body));
    bus.subscribe("judged.evictions", "all", ({ body }) => this.#onEvictions(body));
    bus.subscribe("asked.drain", "all", ({ body }) => this.#update(body.node, { admittedMs: this.nowMs }));
    bus.subscribe("asked.eviction", "all", ({ body }) => this.#onRequest(body));
    bus.subscribe("done.write", "all", ({ body }) => this.#onWrite(body));
  }

  /** The present instant; negative before the start. */
  get nowMs(): number {
    return this.#clock.wallMs() - this.#beganAt;
  }

  /** The first pods that wait for the rate of a policy. */
  queueOf(policy: string | undefined): BodyOf<"judged.evictions">["queue"] {
    return this.#evictions.get(policy ?? "")?.queue ?? [];
  }

  /** Whether a node is shown as Unknown; true for one that is not known. */
  isUnknown(name: string): boolean {
    const node = this.nodes.get(name);
    return node === undefined || isUnknown(node.shown);
  }

  /** Whether a node waits to be admitted for eviction. */
  isWaiting(name: string): boolean {
    const judged = this.nodes.get(name)?.judged ?? null;
    return judged !== null && waitingTaintOf(judged) !== null;
  }

  /** The longest time that a zone in which nodes wait takes for a grant, in milliseconds; 0 where none waits. */
  get slowestGrantMs(): number {
    const rates = [...this.zones.values()].map(({ last }) => (last.queueLength > 0 ? last.taintsPerSecond : 0));
    return Math.max(0, ...rates.map((rate) => (rate > 0 ? 1000 / rate : 0)));
  }

  /** The instants at which countdowns of pods end, in epoch milliseconds. */
  *deadlinesAt(): Generator<number | null> {
    for (const { deadlineAt, deletedMs } of this.pods.values()) if (deletedMs === null) yield deadlineAt;
  }

  /** The instants at which something else is known to end that waits, in epoch milliseconds. */
  *waitsUntilAt(): Generator<number | null | undefined> {
    for (const { judged } of this.nodes.values()) {
      // Most of thousands of nodes wait for nothing.
      const { evictionFromAt, unhealthyDelay, maintenance, conditions } = judged ?? {};
      if (evictionFromAt !== undefined) yield evictionFromAt;
      if (unhealthyDelay !== undefined) yield unhealthyDelay.untilAt;
      if (maintenance !== undefined) yield maintenance.untilAt;
      if (conditions !== undefined) for (const { untilAt } of conditions) yield untilAt;
    }
    for (const { holds } of this.limits.values()) for (const { untilAt } of holds) yield untilAt;
    for (const { queue } of this.#evictions.values()) for (const { expectedAt } of queue) yield expectedAt;
  }

  #update(name: string, change: Partial<RecordedNode>): void {
    const node = this.nodes.get(name);
    if (node !== undefined) this.nodes.set(name, { ...node, ...change });
  }

  #updatePod(uid: string, change: Partial<RecordedPod>): void {
    this.pods.set(uid, { ...(this.pods.get(uid) ?? NO_POD), ...change });
  }

  #onNode(shown: ObservedNode): void {
    const known = this.nodes.get(shown.node);
    const nowMs = this.nowMs;
    if (known === undefined || nowMs < 0) {
      this.nodes.set(shown.node, { judged: null, unknownMs: null, admittedMs: null, ...known, shown });
      return;
    }
    const isNewlyUnknown = !isUnknown(known.shown) && isUnknown(shown);
    const isNewlyTainted = ownTaintsOf(known.shown).length === 0 && ownTaintsOf(shown).length > 0;
    this.#update(shown.node, {
      shown,
      ...(isNewlyUnknown ? { unknownMs: nowMs } : {}),
      ...(isNewlyTainted && known.admittedMs === null ? { admittedMs: nowMs } : {}),
    });
  }

  #onPod({ uid, deadlineAt, taint, toleratedTaint, tolerationSeconds: seconds }: BodyOf<"judged.pod">): void {
    const tolerated = toleratedTaint ?? taint;
    const toleration = tolerated === null ? {} : { toleration: { taint: tolerated, seconds } };
    this.#updatePod(uid, { deadlineAt, ...toleration });
  }

  #onRequest({ uid, policy }: BodyOf<"asked.eviction">): void {
    if (policy !== undefined && this.pods.get(uid)?.requestedMs == null) {
      this.#updatePod(uid, { requestedMs: this.nowMs });
    }
  }

  /** A pod that was requested longer ago than a permit takes waits for the rate. */
  #onEvictions(body: BodyOf<"judged.evictions">): void {
    this.#evictions.set(body.policy, body);
    for (const { uid, field } of body.queue) {
      const requestedMs = this.pods.get(uid)?.requestedMs ?? Number.POSITIVE_INFINITY;
      if (this.nowMs - requestedMs > AT_ONCE_MS) this.#updatePod(uid, { waitedFor: `${field} of ${body.policy}` });
    }
  }

  #onWrite({ ask, kind, uid, outcome }: BodyOf<"done.write">): void {
    const isEviction = kind === "Pod" && ask === "asked.eviction";
    if (isEviction && outcome === "throttled" && this.pods.get(uid)?.refusedMs == null) {
      this.#updatePod(uid, { refusedMs: this.nowMs });
    }
    if (outcome !== "shadowed") return;
    this.changedMs = this.nowMs;
    if (isEviction) this.#updatePod(uid, { deletedMs: this.nowMs });
  }
}

function isUnknown(node: ObservedNode): boolean {
  return readyConditionOf(node)?.status === "Unknown";
}
