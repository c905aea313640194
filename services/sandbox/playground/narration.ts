/** What the playground has received on the bus: the numbers that its story waits for and shows. */
import type { Outcome } from "../../../protocols/done.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { Bus, Clock, Stop } from "../../../protocols/ports.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";

/** A node as last judged. */
export type JudgedNode = BodyOf<"judged.node">;
/** A zone as last judged. */
export type JudgedZone = BodyOf<"judged.zone">;

/** Counters over the whole story. */
export interface Totals {
  verdicts: number;
  /** How late the latest verdict came, past the node's grace, in milliseconds. */
  latestMs: number;
  recoveries: number;
  evictions: number;
  writes: number;
  failedWrites: number;
}

const HARMLESS: ReadonlySet<Outcome> = new Set(["ok", "gone", "refused", "conflict", "shadowed"]);

/** Collects judgements and outcomes. */
export class Narration {
  readonly nodes = new Map<string, JudgedNode>();
  readonly zones = new Map<string, JudgedZone>();
  /** Names of pods whose deletion the API server has accepted. */
  readonly evicted = new Set<string>();
  readonly totals: Totals = { verdicts: 0, latestMs: 0, recoveries: 0, evictions: 0, writes: 0, failedWrites: 0 };
  readonly #graceMs: number;
  readonly #clock: Pick<Clock, "monotonicMs" | "wallMs">;
  /** When each node was tainted NoExecute, and each pod evicted, as last seen. */
  readonly #taintedMs = new Map<string, number>();
  readonly #evictedMs = new Map<string, number>();

  constructor(graceMs: number, clock: Pick<Clock, "monotonicMs" | "wallMs">) {
    this.#graceMs = graceMs;
    this.#clock = clock;
  }

  /** Subscribes to a bus until stopped. */
  listen(bus: Bus): Stop {
    const stops = [
      bus.subscribe("judged.node", "all", ({ body }) => this.#judged(body)),
      bus.subscribe("judged.zone", "all", ({ body }) => this.zones.set(zoneTitleOf(body.zone), body)),
      bus.subscribe("done.write", "all", ({ body }) => this.#done(body)),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** How many of these nodes have a readiness; of all nodes by default. */
  count(readiness: JudgedNode["readiness"], names: Iterable<string> = this.nodes.keys()): number {
    return [...names].filter((name) => this.nodes.get(name)?.readiness === readiness).length;
  }

  stateOf(zone: string): JudgedZone["state"] {
    return this.zones.get(zone)?.state ?? "Initial";
  }

  /** Since when Vigil has not been blind, on the wall clock. */
  #reconnectedAt = Number.NEGATIVE_INFINITY;

  /** Vigil reaches the API server again. Silence from before does not count, so it makes no verdict late. */
  reconnected(): void {
    this.#reconnectedAt = this.#clock.wallMs();
  }

  /** How long after the NoExecute taint of its node a pod was evicted, in milliseconds; null before. */
  waitedMs(pod: string, node: string): number | null {
    const [tainted, evicted] = [this.#taintedMs.get(node), this.#evictedMs.get(pod)];
    return tainted === undefined || evicted === undefined || evicted < tainted ? null : evicted - tainted;
  }

  #judged(body: JudgedNode): void {
    const { readiness: before, eviction } = this.nodes.get(body.node) ?? {};
    this.nodes.set(body.node, body);
    if (body.eviction === "evicted" && eviction !== "evicted") {
      this.#taintedMs.set(body.node, this.#clock.monotonicMs());
    }
    if (before === body.readiness || before === undefined) return;
    if (body.readiness === "unknown") {
      this.totals.verdicts++;
      const heartbeatAt = body.heartbeatAt ?? body.since;
      const lateMs = heartbeatAt < this.#reconnectedAt ? 0 : body.since - heartbeatAt - this.#graceMs;
      this.totals.latestMs = Math.max(this.totals.latestMs, lateMs);
    }
    if (before === "unknown" && body.readiness === "ready") this.totals.recoveries++;
  }

  #done({ ask, outcome, name }: BodyOf<"done.write">): void {
    this.totals.writes++;
    if (!HARMLESS.has(outcome)) this.totals.failedWrites++;
    if (ask !== "asked.eviction" || outcome !== "ok") return;
    this.totals.evictions++;
    this.evicted.add(name);
    this.#evictedMs.set(name, this.#clock.monotonicMs());
  }
}
