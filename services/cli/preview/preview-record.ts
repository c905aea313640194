/** What the services of a preview publish, as far as its report needs it. Spans are in milliseconds after its start. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Bus, Clock } from "../../../protocols/ports.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import type { Judged } from "../../ledger/state/cluster-state.ts";
import { ownTaintsOf } from "../../zone/zone.policy.ts";

/** A node, as it is shown and judged last. */
export interface RecordedNode {
  readonly shown: ObservedNode;
  readonly judged: BodyOf<"judged.node"> | null;
  /** When it became Unknown, and when it first carried a NoExecute taint of Vigil's or was drained; null for never. */
  readonly unknownMs: number | null;
  readonly admittedMs: number | null;
}

/** A pod about whose eviction something was decided or done. What is absent did not happen. */
export interface RecordedPod {
  /** The last decision about it, and the last one by a taint. */
  readonly judged?: BodyOf<"judged.pod">;
  readonly evicting?: BodyOf<"judged.pod">;
  /** When its eviction was requested first, refused first, and done. */
  readonly requestedMs?: number;
  readonly refusedMs?: number;
  readonly deletedMs?: number;
  /** The field of its policy whose rate it waited for. */
  readonly waitedFor?: string;
}

/** What a zone announced first and last. */
export type RecordedZone = Readonly<Record<"first" | "last", BodyOf<"judged.zone">>>;

/** A permit that comes so soon after the request, in milliseconds, was not waited for. */
const AT_ONCE_MS = 1000;

/** The record of one preview. */
export class PreviewRecord {
  readonly nodes = new Map<string, RecordedNode>();
  readonly zones = new Map<string, RecordedZone>();
  readonly limits = new Map<string, Judged<"judged.limits">>();
  readonly #evictions = new Map<string, BodyOf<"judged.evictions">>();
  readonly #pods = new Map<string, RecordedPod>();
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
    bus.subscribe("judged.limits", "all", ({ at, body }) => {
      this.limits.set(body.policy, { judged: body, publishedAt: at });
    });
    bus.subscribe("judged.pod", "all", ({ body }) => {
      const isByTaint = (body.toleratedTaint ?? body.taint) !== null;
      this.#updatePod(body.uid, { judged: body, ...(isByTaint ? { evicting: body } : {}) });
    });
    bus.subscribe("judged.evictions", "all", ({ body }) => this.#onEvictions(body));
    bus.subscribe("asked.drain", "all", ({ body }) => this.#update(body.node, { admittedMs: this.nowMs }));
    bus.subscribe("asked.eviction", "all", ({ body: { uid, policy } }) => {
      if (policy !== undefined) this.#updatePod(uid, { requestedMs: this.nowMs, ...this.pod(uid) });
    });
    bus.subscribe("done.write", "all", ({ body }) => this.#onWrite(body));
  }

  /** The present instant; negative before the start. */
  get nowMs(): number {
    return this.#clock.wallMs() - this.#beganAt;
  }

  /** A pod by its uid. */
  pod(uid: string): RecordedPod {
    return this.#pods.get(uid) ?? {};
  }

  /** The first pods that wait for the rate of a policy. */
  queueOf(policy: string): BodyOf<"judged.evictions">["queue"] {
    return this.#evictions.get(policy)?.queue ?? [];
  }

  /** The longest time that a zone in which nodes wait takes for a grant, in milliseconds; 0 where none waits. */
  get slowestGrantMs(): number {
    const rates = [...this.zones.values()].map(({ last }) => (last.queueLength > 0 ? last.taintsPerSecond : 0));
    return Math.max(0, ...rates.map((rate) => (rate > 0 ? 1000 / rate : 0)));
  }

  /** The instants at which countdowns of pods end, in epoch milliseconds. */
  *deadlinesAt(): Generator<number | null | undefined> {
    for (const { judged, deletedMs } of this.#pods.values()) if (deletedMs === undefined) yield judged?.deadlineAt;
  }

  /** The instants at which something else is known to end that waits, in epoch milliseconds. */
  *waitsUntilAt(): Generator<number | null | undefined> {
    for (const { judged } of this.nodes.values()) {
      yield judged?.evictionFromAt;
      yield judged?.unhealthyDelay?.untilAt;
      yield judged?.maintenance?.untilAt;
      for (const { untilAt } of judged?.conditions ?? []) yield untilAt;
    }
    for (const { judged } of this.limits.values()) for (const { untilAt } of judged.holds) yield untilAt;
    for (const { queue } of this.#evictions.values()) for (const { expectedAt } of queue) yield expectedAt;
  }

  #update(name: string, change: Partial<RecordedNode>): void {
    const node = this.nodes.get(name);
    if (node !== undefined) this.nodes.set(name, { ...node, ...change });
  }

  #updatePod(uid: string, change: RecordedPod): void {
    this.#pods.set(uid, { ...this.pod(uid), ...change });
  }

  #onNode(shown: ObservedNode): void {
    const known = this.nodes.get(shown.node) ?? { shown, judged: null, unknownMs: null, admittedMs: null };
    const { nowMs } = this;
    const isNew = (is: (node: ObservedNode) => boolean): boolean => nowMs >= 0 && !is(known.shown) && is(shown);
    const unknownMs = isNew((node) => readyConditionOf(node)?.status === "Unknown") ? nowMs : known.unknownMs;
    const admittedMs = known.admittedMs ?? (isNew((node) => ownTaintsOf(node).length > 0) ? nowMs : null);
    this.nodes.set(shown.node, { ...known, shown, unknownMs, admittedMs });
  }

  /** A pod that was requested longer ago than a permit takes waits for the rate. */
  #onEvictions(body: BodyOf<"judged.evictions">): void {
    this.#evictions.set(body.policy, body);
    for (const { uid, field } of body.queue) {
      const { requestedMs = Number.POSITIVE_INFINITY } = this.pod(uid);
      if (this.nowMs - requestedMs > AT_ONCE_MS) this.#updatePod(uid, { waitedFor: `${field} of ${body.policy}` });
    }
  }

  #onWrite({ ask, kind, uid, outcome }: BodyOf<"done.write">): void {
    const isEviction = kind === "Pod" && ask === "asked.eviction";
    if (isEviction && outcome === "throttled") this.#updatePod(uid, { refusedMs: this.nowMs, ...this.pod(uid) });
    if (outcome !== "shadowed") return;
    this.changedMs = this.nowMs;
    if (isEviction) this.#updatePod(uid, { deletedMs: this.nowMs });
  }
}
