/** Hollow nodes by the thousand in one process: one timer, one watch of nodes and one of pods serve all. */
import type { ConditionStatus } from "../../../protocols/objects.ts";
import { type Io, type Timer, Urgency } from "../../../protocols/ports.ts";
import { KeyedDeadlines } from "../../structures/deadlines.keyed.ts";
import { HollowNode, type HollowTimes } from "./hollow-node.ts";
import { HollowPods, hollowPod } from "./hollow-pods.ts";
import type { HollowNodeSpec } from "./hollow-stats.ts";
import { type HollowSelector, select } from "./node-selection.ts";

/** Ports and nodes. */
export interface HollowOptions extends Pick<Io, "clock" | "kube" | "random" | "log"> {
  readonly nodes: readonly HollowNodeSpec[];
  /** kubelet's defaults if absent: a lease of 40 s renewed every 10 s, a status every 5 min. */
  readonly times?: HollowTimes;
  /**
   * Whether a node that is deleted at the API stays deleted until it is ordered to resume. If absent, a live one
   * registers again.
   */
  readonly staysDeleted?: boolean;
}

/** The progress of hollow nodes. */
export interface HollowSummary {
  readonly nodes: number;
  readonly registered: number;
  readonly stopped: number;
  readonly pods: number;
  readonly podsCreated: number;
}

const STANDARD_TIMES: HollowTimes = { leaseSeconds: 40, statusReportMs: 300_000 };
/** Nodes that register at the same time. */
const REGISTERING_MAX = 512;
/** Heartbeats within so many milliseconds are sent together, so the process wakes less often. */
const HEARTBEAT_BATCH_MS = 50;

/**
 * Hollow nodes: each registers with its labels and status, then renews its lease. Each order has a selector and returns
 * how many nodes it reached.
 */
export class HollowNodes {
  readonly #options: HollowOptions;
  readonly #nodes: Map<string, HollowNode>;
  readonly #pods: HollowPods;
  readonly #heartbeats: KeyedDeadlines<HollowNode>;
  readonly #flapping = new Map<HollowNode, Timer>();
  readonly #stopWatches: readonly (() => void)[];
  readonly #waiting: Iterator<HollowNode>;
  readonly #furnished = new WeakSet<HollowNode>();
  #leaving = 0;
  readonly #awaiting: (() => void)[] = [];
  #podsCreated = 0;
  #ended = false;

  constructor(options: HollowOptions) {
    const { clock, kube, random, log, nodes, times = STANDARD_TIMES, staysDeleted = false } = options;
    this.#options = options;
    this.#pods = new HollowPods(kube, log);
    this.#heartbeats = new KeyedDeadlines({ clock, fire: (node) => this.#sendHeartbeat(node) });
    const wake = (node: HollowNode, delayMs: number | null) => this.#wake(node, delayMs);
    const registered = (node: HollowNode) => this.#createPods(node);
    const shared = { clock, kube, random, log, times, staysDeleted, wake, registered };
    this.#nodes = new Map(nodes.map((spec) => [spec.name, new HollowNode(spec, shared)]));
    this.#waiting = [...this.#nodes.values()].values();
    this.#stopWatches = [this.#watchNodes(), this.#watchPods()];
    for (let count = 0; count < REGISTERING_MAX; count++) this.#registerNext();
  }

  /** Stops heartbeats, status and pods. */
  stop(selector: HollowSelector): number {
    return this.#each(selector, (node) => {
      this.#endFlap(node);
      node.stop();
    });
  }

  /** Resumes with a heartbeat at once. */
  resume(selector: HollowSelector): number {
    return this.#each(selector, (node) => {
      this.#endFlap(node);
      this.#resume(node);
    });
  }

  /** Sets a condition: `Ready`, a pressure, or any other type. */
  set(selector: HollowSelector, type: string, status: ConditionStatus): number {
    return this.#each(selector, (node) => node.order(type, status));
  }

  /** Lengthens the pause between heartbeats; 0 ends it. */
  lag(selector: HollowSelector, lagMs: number): number {
    return this.#each(selector, (node) => node.lag(lagMs));
  }

  /** Stops and resumes alternately, each for `halfPeriodMs`; 0 resumes for good. */
  flap(selector: HollowSelector, halfPeriodMs: number): number {
    return this.#each(selector, (node) => {
      this.#endFlap(node);
      if (halfPeriodMs > 0) this.#flapTo(node, true, halfPeriodMs);
      else this.#resume(node);
    });
  }

  /** Deletes nodes and their leases. */
  remove(selector: HollowSelector): number {
    return this.#each(selector, (node) => {
      this.#endFlap(node);
      this.#nodes.delete(node.spec.name);
      this.#leaving++;
      node.remove(() => {
        this.#leaving--;
        this.#notifyRemoved();
      });
    });
  }

  /** Calls `done` once no removal is in progress. */
  whenRemoved(done: () => void): void {
    this.#awaiting.push(done);
    this.#notifyRemoved();
  }

  summary(): HollowSummary {
    const nodes = [...this.#nodes.values()];
    return {
      nodes: nodes.length,
      registered: nodes.filter((node) => node.registered).length,
      stopped: nodes.filter((node) => node.stopped).length,
      pods: nodes.reduce((sum, node) => sum + (node.spec.pods ?? 0), 0),
      podsCreated: this.#podsCreated,
    };
  }

  /** Ends all timers and watches; the nodes become silent and stay at the API. */
  shutdown(): void {
    this.#ended = true;
    for (const timer of this.#flapping.values()) timer.cancel();
    this.#flapping.clear();
    for (const node of this.#nodes.values()) node.stop();
    this.#heartbeats.clear();
    for (const stop of this.#stopWatches) stop();
  }

  #each(selector: HollowSelector, act: (node: HollowNode) => void): number {
    const selected = select(this.#nodes.values(), selector, this.#options.random);
    for (const node of selected) act(node);
    return selected.length;
  }

  #notifyRemoved(): void {
    if (this.#leaving > 0) return;
    for (const done of this.#awaiting.splice(0)) done();
  }

  #wake(node: HollowNode, delayMs: number | null): void {
    if (delayMs === null) this.#heartbeats.cancel(node);
    else {
      const dueMs = this.#options.clock.monotonicMs() + delayMs;
      this.#heartbeats.schedule(node, Math.ceil(dueMs / HEARTBEAT_BATCH_MS) * HEARTBEAT_BATCH_MS);
    }
  }

  #sendHeartbeat(node: HollowNode): void {
    node.sendHeartbeat();
    this.#tendPods(node);
  }

  #resume(node: HollowNode): void {
    node.resume();
    this.#tendPods(node);
  }

  #tendPods(node: HollowNode): void {
    if (node.lives) this.#pods.tendAll(node.spec.name, this.#options.clock.wallMs(), !node.orderedNotReady);
  }

  #endFlap(node: HollowNode): void {
    this.#flapping.get(node)?.cancel();
    this.#flapping.delete(node);
  }

  #flapTo(node: HollowNode, down: boolean, halfPeriodMs: number): void {
    if (down) node.stop();
    else this.#resume(node);
    const timer = this.#options.clock.after(halfPeriodMs, () => this.#flapTo(node, !down, halfPeriodMs));
    this.#flapping.set(node, timer);
  }

  /** Registers the next remaining node; its completion starts another. */
  #registerNext(): void {
    for (let next = this.#waiting.next(); next.done !== true && !this.#ended; next = this.#waiting.next()) {
      const node = next.value;
      if (node.stopped || !this.#nodes.has(node.spec.name)) continue;
      node.start(() => this.#options.clock.soon(() => this.#registerNext()));
      return;
    }
  }

  /** Creates a node's pods once, one after the other; an existing pod counts as created. */
  #createPods(node: HollowNode): void {
    if (this.#furnished.has(node)) return;
    this.#furnished.add(node);
    this.#createPod(node, 0);
  }

  #createPod(node: HollowNode, index: number): void {
    if (this.#ended || index >= (node.spec.pods ?? 0)) return;
    const { ref, body } = hollowPod(node.spec.name, index);
    this.#options.kube.write({ ref, urgency: Urgency.readiness, verb: "create", body }, (reply) => {
      if (reply.outcome === "ok" || reply.outcome === "exists") this.#podsCreated++;
      else this.#options.log.warn("hollow pod not created", { pod: ref.name, detail: reply.detail });
      this.#createPod(node, index + 1);
    });
  }

  #watchNodes(): () => void {
    const watch = this.#options.kube.watch("nodes", {
      changed: (observed) => this.#nodes.get(observed.node)?.observe(observed),
      gone: (name, last) => this.#nodes.get(name)?.deleted(last?.uid ?? null),
      state: () => {},
    });
    return () => watch.stop();
  }

  #watchPods(): () => void {
    const watch = this.#options.kube.watch("pods", {
      changed: (bound) => {
        const node = this.#nodes.get(bound.node);
        if (node === undefined || !this.#pods.observe(bound) || !node.lives) return;
        this.#pods.tend(bound, this.#options.clock.wallMs(), !node.orderedNotReady);
      },
      gone: (_key, bound) => {
        if (bound !== null) this.#pods.gone(bound);
      },
      state: () => {},
    });
    return () => watch.stop();
  }
}
