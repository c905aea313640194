/**
 * One hollow node: registers itself, renews its lease, posts its status, obeys orders. When it is due is the caller's
 * timer wheel.
 */
import type { ConditionStatus, ObservedNode } from "../../../protocols/objects.ts";
import { type Clock, type Kube, type Log, type Random, type Stop, Urgency } from "../../../protocols/ports.ts";
import { jittered, renewPeriodMs } from "../../agent/lease.policy.ts";
import { LeaseKeeper } from "../../agent/lease.ts";
import { asNode, type NodeCondition, type NodeObject } from "../../agent/node-object.ts";
import { type Candidate, nodeRef, register } from "../../agent/registration.ts";
import { removeObject } from "../../agent/removal.ts";
import { statusPatch } from "../../agent/status.patch.ts";
import { retryPauseMs } from "../../platform/structures/retry-schedule.ts";
import type { HollowNodeSpec } from "./hollow-stats.ts";
import { conditionsPatch, correctedConditions, hollowNode, hollowStatus, ownConditions } from "./hollow-status.ts";

/** How often hollow nodes do what; kubelet's defaults. */
export interface HollowTimes {
  readonly leaseSeconds: number;
  readonly statusReportMs: number;
}

/** What a hollow node needs. */
export interface HollowNodeOptions {
  readonly clock: Clock;
  readonly kube: Kube;
  readonly random: Random;
  readonly log: Log;
  readonly times: HollowTimes;
  /** Asks to be woken by `beat` in `delayMs`; a later request replaces an earlier one, null takes it back. */
  readonly wake: (node: HollowNode, delayMs: number | null) => void;
  /** Told each time the node has been registered. */
  readonly registered: (node: HollowNode) => void;
}

/** A registration under way. */
interface Registering {
  readonly stop: Stop;
  readonly done: () => void;
}

const REGISTER_RETRIES = { baseMs: 100, maxMs: 7_000 };

/** One hollow node. Silent while stopped: no lease, no status, no pod is finalised, as of a machine without power. */
export class HollowNode {
  readonly spec: HollowNodeSpec;
  readonly #options: HollowNodeOptions;
  readonly #lease: LeaseKeeper;
  readonly #ordered = new Map<string, ConditionStatus>();
  /** The node's uid at the API; null while it is not registered. */
  #uid: string | null = null;
  /** The conditions this node shows, as the API has them, with our texts and times; others' are theirs. */
  #conditions: readonly NodeCondition[] = [];
  #stopped = false;
  #removed = false;
  #lagMs = 0;
  #statusDueMs = 0;
  /** Whether the API shows something else than this node wants to show. */
  #differs = false;
  /** Whether the API has this node's whole status, so that only conditions need to be posted. */
  #whole = false;
  #registering: Registering | null = null;

  constructor(spec: HollowNodeSpec, options: HollowNodeOptions) {
    this.spec = spec;
    this.#options = options;
    const { clock, kube, log, times } = options;
    this.#lease = new LeaseKeeper({
      clock,
      kube,
      log,
      nodeName: spec.name,
      leaseSeconds: times.leaseSeconds,
      owner: (done) => clock.soon(() => done(this.#uid)),
    });
  }

  get registered(): boolean {
    return this.#uid !== null;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Whether the node is registered and not stopped: only then do its pods get attention. */
  get lives(): boolean {
    return !this.#stopped && this.registered;
  }

  /** Whether the node was ordered to say that it is not ready. */
  get orderedNotReady(): boolean {
    return (this.#ordered.get("Ready") ?? "True") !== "True";
  }

  /**
   * Registers the node and starts its heartbeats; `done` is called once, when it is registered or stopped before. A
   * node that is registered or about to be is left to it.
   */
  start(done: () => void): void {
    if (this.registered || this.#registering !== null) {
      done();
      return;
    }
    const { clock, kube, log } = this.#options;
    let sent: readonly NodeCondition[] = [];
    const candidate = (use: (candidate: Candidate) => void) => {
      const node = hollowNode(this.spec, this.#ordered, clock.wallMs());
      sent = node.status?.conditions ?? [];
      use({ node, resetExtendedResources: false });
    };
    const pauseMs = (attempt: number) => (attempt === 0 ? 0 : retryPauseMs(attempt, REGISTER_RETRIES));
    const stop = register({ clock, kube, log, pauseMs, candidate }, (node, created) => {
      this.#registering = null;
      this.#adopt(node, created ? sent : null);
      this.#options.registered(this);
      done();
    });
    this.#registering = { stop, done };
  }

  /** The moment it asked for has come: renews the lease, and posts the status when that is due or differs. */
  beat(): void {
    if (!this.lives) return;
    if (this.#differs || this.#options.clock.monotonicMs() >= this.#statusDueMs) this.#post();
    this.#lease.renew(() => this.#rest());
  }

  /** What the API shows of this node. */
  observe(observed: ObservedNode): void {
    if (observed.uid !== this.#uid) return;
    const corrected = correctedConditions(this.#conditions, observed.conditions);
    if (corrected === this.#conditions) return;
    this.#conditions = corrected;
    this.#differs = true;
  }

  /** The node of this uid was deleted at the API: a live one registers again (better than R9.4). */
  deleted(uid: string | null): void {
    if (uid === null || uid !== this.#uid || this.#removed) return;
    this.#uid = null;
    this.#lease.forget();
    this.#options.wake(this, null);
    if (!this.#stopped) this.start(() => {});
  }

  /** Falls silent at once. */
  stop(): void {
    this.#stopped = true;
    this.#lease.stop();
    this.#options.wake(this, null);
    const registering = this.#registering;
    this.#registering = null;
    registering?.stop();
    registering?.done();
  }

  /** Comes back: with a heartbeat at once, or by registering. */
  resume(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    if (this.registered) this.beat();
    else this.start(() => {});
  }

  /** Shows a condition with this status from now on. */
  order(type: string, status: ConditionStatus): void {
    this.#ordered.set(type, status);
    this.#differs = true;
    if (this.lives) this.#post();
  }

  /** Lengthens the pause between two heartbeats by so much. */
  lag(lagMs: number): void {
    this.#lagMs = lagMs;
  }

  /** Leaves: deletes the node and its lease; `done` is called once, whatever comes of it. */
  remove(done: () => void): void {
    this.#removed = true;
    this.stop();
    const { name } = this.spec;
    this.#lease.remove(() =>
      removeObject(this.#options, nodeRef(name), undefined, (refusal) => {
        if (refusal !== null) this.#options.log.warn("hollow node not deleted", { node: name, detail: refusal });
        done();
      }),
    );
  }

  /**
   * A created node already shows what was sent, which shares its texts with all others; one that was met gets it now.
   */
  #adopt(node: NodeObject, sent: readonly NodeCondition[] | null): void {
    const { clock, random, times } = this.#options;
    const shown = node.status?.conditions ?? [];
    this.#uid = node.metadata.uid ?? "";
    this.#whole = sent !== null && sent.length === shown.length;
    this.#conditions = this.#whole && sent !== null ? sent : ownConditions(shown, this.#ordered);
    this.#statusDueMs = clock.monotonicMs() + times.statusReportMs * random();
    if (!this.#whole) this.#post();
    this.#lease.renew(() => this.#restAtFirst());
  }

  #post(): void {
    const { clock, kube, times } = this.#options;
    this.#differs = false;
    this.#statusDueMs = clock.monotonicMs() + times.statusReportMs;
    if (this.#whole) {
      this.#send({ metadata: { name: this.spec.name }, status: { conditions: this.#conditions } });
      return;
    }
    kube.read(nodeRef(this.spec.name), (reply) => {
      if (reply.outcome === "ok") this.#send(asNode(reply.object));
      else this.#notPosted(reply.outcome);
    });
  }

  /** Patches the difference between the node as the API has it and as it is computed now. */
  #send(before: NodeObject): void {
    if (!this.lives) return;
    const { clock, kube } = this.#options;
    const computed = hollowStatus(before, this.spec, this.#ordered, clock.wallMs());
    const conditions = ownConditions(computed.status?.conditions ?? [], this.#ordered);
    const body = this.#whole ? conditionsPatch(conditions) : (statusPatch(before, computed) ?? {});
    const request = { ref: nodeRef(this.spec.name), urgency: Urgency.status, subresource: "status" } as const;
    const uid = this.#uid;
    kube.write({ ...request, verb: "patch", patch: "strategic", body }, (reply) => {
      if (uid !== this.#uid) return;
      if (reply.outcome !== "ok") this.#notPosted(reply.outcome);
      else {
        this.#conditions = conditions;
        this.#whole = true;
      }
    });
  }

  #notPosted(outcome: string): void {
    if (outcome === "gone") this.deleted(this.#uid);
    else this.#differs = true;
  }

  /** The first pause is drawn from the whole period, so that nodes registered together do not beat together. */
  #restAtFirst(): void {
    const { random, times, wake } = this.#options;
    wake(this, renewPeriodMs(times.leaseSeconds) * random() + this.#lagMs);
  }

  #rest(): void {
    const { random, times, wake } = this.#options;
    wake(this, jittered(renewPeriodMs(times.leaseSeconds), random) + this.#lagMs);
  }
}
