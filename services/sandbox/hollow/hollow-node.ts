/**
 * One hollow node: registers, renews its lease, posts its status and follows orders. The caller's timer calls
 * `sendHeartbeat`.
 */
import type { ConditionStatus, ObservedNode } from "../../../protocols/objects.ts";
import { type Io, type Stop, Urgency } from "../../../protocols/ports.ts";
import { jittered, renewPeriodMs } from "../../agent/lease.policy.ts";
import { LeaseKeeper, removeObject } from "../../agent/lease.ts";
import { asNode, type NodeCondition, type NodeObject } from "../../agent/node-object.ts";
import { type Candidate, nodeRef, register } from "../../agent/registration.ts";
import { statusPatch } from "../../agent/status.patch.ts";
import { retryPauseMs } from "../../structures/retry-schedule.ts";
import type { HollowNodeSpec } from "./hollow-stats.ts";
import { conditionsPatch, correctedConditions, hollowNode, hollowStatus, ownConditions } from "./hollow-status.ts";

/** Periods of hollow nodes; kubelet's defaults. */
export interface HollowTimes {
  readonly leaseSeconds: number;
  readonly statusReportMs: number;
}

/** What a hollow node needs. */
export interface HollowNodeOptions extends Pick<Io, "clock" | "kube" | "random" | "log"> {
  readonly times: HollowTimes;
  /** Whether the node stops when it is deleted at the API. */
  readonly staysDeleted: boolean;
  /** Schedules a call of `sendHeartbeat` in `delayMs`, in place of an earlier one; null cancels it. */
  readonly wake: (node: HollowNode, delayMs: number | null) => void;
  /** Called each time the node has been registered. */
  readonly registered: (node: HollowNode) => void;
}

/** A registration in progress. */
interface Registering {
  readonly stop: Stop;
  readonly done: () => void;
}

const REGISTER_RETRIES = { baseMs: 100, maxMs: 7_000 };

/** One hollow node. A stopped one is like a machine without power: no lease, no status, no pod deleted. */
export class HollowNode {
  readonly spec: HollowNodeSpec;
  readonly #options: HollowNodeOptions;
  readonly #lease: LeaseKeeper;
  readonly #ordered = new Map<string, ConditionStatus>();
  /** The node's uid at the API; null while it is not registered. */
  #uid: string | null = null;
  /** The node's own conditions as the API has them, with shared strings. */
  #conditions: readonly NodeCondition[] = [];
  #stopped = false;
  #removed = false;
  #lagMs = 0;
  #statusDueMs = 0;
  /** Whether the API shows other conditions than this node's. */
  #differs = false;
  /** Whether a status is being posted. The next one waits for its end, because it may use another connection. */
  #posting = false;
  /** Whether the API has the complete status. Then only conditions need posting. */
  #isStatusComplete = false;
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

  /** Whether the node is registered and not stopped. Only then are its pods handled. */
  get lives(): boolean {
    return !this.#stopped && this.registered;
  }

  /** Whether an order made the node not ready. */
  get orderedNotReady(): boolean {
    return (this.#ordered.get("Ready") ?? "True") !== "True";
  }

  /**
   * Registers the node and starts its heartbeats, unless that has begun. `done` is called once: when it is registered,
   * or stopped before that.
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

  /** Renews the lease, and posts the status when it is due or differs. */
  sendHeartbeat(): void {
    if (!this.lives) return;
    if (this.#differs || this.#options.clock.monotonicMs() >= this.#statusDueMs) this.#post();
    this.#lease.renew(() => this.#rest());
  }

  /** Compares the node at the API with its own conditions. */
  observe(observed: ObservedNode): void {
    if (observed.uid !== this.#uid) return;
    const corrected = correctedConditions(this.#conditions, observed.conditions);
    if (corrected === this.#conditions) return;
    this.#conditions = corrected;
    this.#differs = true;
  }

  /** Handles the deletion of the node at the API: a live node stops, or registers again (better than R9.4). */
  deleted(uid: string | null): void {
    if (uid === null || uid !== this.#uid || this.#removed) return;
    this.#uid = null;
    this.#lease.forget();
    this.#options.wake(this, null);
    if (this.#stopped) return;
    if (this.#options.staysDeleted) this.stop();
    else this.start(() => {});
  }

  /** Stops every heartbeat at once. */
  stop(): void {
    this.#stopped = true;
    this.#lease.stop();
    this.#options.wake(this, null);
    const registering = this.#registering;
    this.#registering = null;
    registering?.stop();
    registering?.done();
  }

  /** Resumes with a heartbeat at once, or by registering. */
  resume(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    if (this.registered) this.sendHeartbeat();
    else this.start(() => {});
  }

  /** Shows a condition with this status from now on. */
  order(type: string, status: ConditionStatus): void {
    this.#ordered.set(type, status);
    this.#differs = true;
    if (this.lives) this.#post();
  }

  /** Lengthens the pause between two heartbeats. */
  lag(lagMs: number): void {
    this.#lagMs = lagMs;
  }

  /** Deletes the node and its lease; `done` is called once, whatever the result. */
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

  /** A created node already has the status that was sent; an existing one gets it now. */
  #adopt(node: NodeObject, sent: readonly NodeCondition[] | null): void {
    const { clock, random, times } = this.#options;
    const shown = node.status?.conditions ?? [];
    this.#uid = node.metadata.uid ?? "";
    this.#isStatusComplete = sent !== null && sent.length === shown.length;
    this.#conditions = this.#isStatusComplete && sent !== null ? sent : ownConditions(shown, this.#ordered);
    this.#statusDueMs = clock.monotonicMs() + times.statusReportMs * random();
    if (!this.#isStatusComplete) this.#post();
    this.#lease.renew(() => this.#restAtFirst());
  }

  #post(): void {
    const { clock, kube, times } = this.#options;
    if (this.#posting) {
      this.#differs = true;
      return;
    }
    this.#posting = true;
    this.#differs = false;
    this.#statusDueMs = clock.monotonicMs() + times.statusReportMs;
    if (this.#isStatusComplete) {
      this.#send({ metadata: { name: this.spec.name }, status: { conditions: this.#conditions } });
      return;
    }
    const uid = this.#uid;
    kube.read(nodeRef(this.spec.name), (reply) => {
      if (reply.outcome === "ok") this.#send(asNode(reply.object));
      else this.#notPosted(reply.outcome, uid);
    });
  }

  /** Patches the difference between the node at the API and the computed one. */
  #send(before: NodeObject): void {
    if (!this.lives) {
      this.#posting = false;
      return;
    }
    const { clock, kube } = this.#options;
    const computed = hollowStatus(before, this.spec, this.#ordered, clock.wallMs());
    const conditions = ownConditions(computed.status?.conditions ?? [], this.#ordered);
    const body = this.#isStatusComplete ? conditionsPatch(conditions) : (statusPatch(before, computed) ?? {});
    const request = { ref: nodeRef(this.spec.name), urgency: Urgency.status, subresource: "status" } as const;
    const uid = this.#uid;
    kube.write({ ...request, verb: "patch", patch: "strategic", body }, (reply) => {
      if (reply.outcome !== "ok") this.#notPosted(reply.outcome, uid);
      else this.#posted(conditions, uid);
    });
  }

  #posted(conditions: readonly NodeCondition[], uid: string | null): void {
    this.#posting = false;
    if (uid !== this.#uid) return;
    this.#conditions = conditions;
    this.#isStatusComplete = true;
    if (this.#differs && this.lives) this.#post();
  }

  #notPosted(outcome: string, uid: string | null): void {
    this.#posting = false;
    if (uid !== this.#uid) return;
    if (outcome === "gone") this.deleted(this.#uid);
    else this.#differs = true;
  }

  /** The first pause is random over the whole period, which spreads nodes that register together. */
  #restAtFirst(): void {
    const { random, times, wake } = this.#options;
    wake(this, renewPeriodMs(times.leaseSeconds) * random() + this.#lagMs);
  }

  #rest(): void {
    const { random, times, wake } = this.#options;
    wake(this, jittered(renewPeriodMs(times.leaseSeconds), random) + this.#lagMs);
  }
}
