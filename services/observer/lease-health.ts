/**
 * Whether leases can be trusted. Their watch may be stale: when it is quiet, a few of its leases are compared with live
 * reads. Their path may be broken: leases are no longer renewed, while statuses still arrive.
 */
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { BrokenLeasePath } from "../../protocols/observed.ts";
import type { Io, KubeObject, Timer } from "../../protocols/ports.ts";
import { epochMsOf } from "../domain/api-time.ts";
import { leasePathText } from "../platform/shard-view/lease-path-text.ts";
import { isLeasePathBroken, LIVE_AFTER_MS } from "./lease-path.policy.ts";

/** A live read may be ahead of a healthy watch by the latency of an event. */
const CATCH_UP_MS = 1_000;

/** How many leases one check compares: more than one, because the lease of a dead node shows nothing. */
const LEASES_PER_CHECK = 3;

/** The leases as the watch has delivered them. */
export interface KnownLeases {
  /** Names of `count` random leases, or fewer. */
  sample(count: number): string[];
  /** The renewTime; undefined for an unknown lease. */
  renewedAt(name: string): number | null | undefined;
  /** Called when the watch is stale. */
  stale(detail: string): void;
}

/** Checks the lease watch when it is quiet: a kubelet renews every ten seconds, so only an empty cluster is quiet. */
export class LeaseCheck {
  readonly #io: Io;
  readonly #leases: KnownLeases;
  #receivedMs: number;
  #timer: Timer;
  /** Nodes whose lease was compared within the last second because of a writer's read. */
  readonly #compared = new Set<string>();
  #hasEnded = false;

  constructor(io: Io, leases: KnownLeases) {
    this.#io = io;
    this.#leases = leases;
    this.#receivedMs = io.clock.monotonicMs();
    this.#timer = io.clock.after(io.profile.watchQuietMs, () => this.#check());
  }

  /** Records an event of the lease watch. */
  received(): void {
    this.#receivedMs = this.#io.clock.monotonicMs();
  }

  /** Handles a renewal that a writer has read: the lease of a node is compared once for all its pods. */
  onRenewal(name: string, renewedAt: number): void {
    if (this.#compared.has(name) || !isBehind(this.#leases.renewedAt(name), renewedAt)) return;
    this.#compared.add(name);
    this.#io.clock.after(CATCH_UP_MS, () => this.#compared.delete(name));
    this.compare(name);
  }

  /** Compares one lease now, because a writer has read a newer one than was published. */
  compare(name: string): void {
    this.#io.kube.read({ kind: "Lease", namespace: LEASE_NAMESPACE, name }, (reply) => {
      if (this.#hasEnded || (reply.outcome !== "ok" && reply.outcome !== "gone")) return;
      const live = reply.outcome === "ok" ? renewTimeOf(reply.object) : undefined;
      const watched = this.#leases.renewedAt(name);
      if (isBehind(watched, live)) this.#io.clock.after(CATCH_UP_MS, () => this.#conclude(name, live, watched));
    });
  }

  stop(): void {
    this.#hasEnded = true;
    this.#timer.cancel();
  }

  #check(): void {
    const { clock, profile } = this.#io;
    const quietMs = clock.monotonicMs() - this.#receivedMs;
    const isQuiet = quietMs >= profile.watchQuietMs;
    if (isQuiet) for (const name of this.#leases.sample(LEASES_PER_CHECK)) this.compare(name);
    const pauseMs = isQuiet ? profile.watchQuietMs : profile.watchQuietMs - quietMs;
    this.#timer = clock.after(pauseMs, () => this.#check());
  }

  /**
   * The watch is not stale if it has shown meanwhile that the lease was deleted, or that a lease read as gone was
   * created.
   */
  #conclude(name: string, live: number | null | undefined, before: number | null | undefined): void {
    const watched = this.#leases.renewedAt(name);
    const hasComeOrGone = watched !== before && (watched === undefined || live === undefined);
    if (this.#hasEnded || hasComeOrGone || !isBehind(watched, live)) return;
    this.#leases.stale(`the lease of ${name} is newer than its watch`);
  }
}

function isBehind(watched: number | null | undefined, live: number | null | undefined): boolean {
  if (watched === undefined || live === undefined) return watched !== live;
  return live !== null && (watched === null || live > watched);
}

function renewTimeOf({ spec }: KubeObject): number | null {
  const renewTime = typeof spec === "object" && spec !== null && "renewTime" in spec ? spec.renewTime : null;
  return typeof renewTime === "string" ? epochMsOf(renewTime) : null;
}

/** Whether the path of leases is broken, by the heartbeats of all nodes that one observer receives. */
export class LeasePathHealth {
  readonly #io: Pick<Io, "clock" | "log" | "profile">;
  #renewedMs: number | null = null;
  /** The latest renewal by its stamp, which is older than `#renewedMs` if leases were only listed. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #postedMs: number | null = null;
  readonly #posted = new Set<string>();
  #broken: BrokenLeasePath | null = null;

  constructor(io: Pick<Io, "clock" | "log" | "profile">) {
    this.#io = io;
  }

  get broken(): BrokenLeasePath | null {
    return this.#broken;
  }

  /** Records a renewal of any lease, and when it was made: the earlier of its stamp and the present instant. */
  renewed(seenMs: number, renewedAt: number): void {
    if (renewedAt > this.#renewedAt) this.#renewedAt = renewedAt;
    if (this.#renewedMs === null || seenMs > this.#renewedMs) this.#renewedMs = seenMs;
    if (this.#posted.size > 0) this.#posted.clear();
  }

  /** Records a status that a kubelet has posted. */
  posted(node: string, seenMs: number): void {
    if (this.#renewedMs === null || seenMs - this.#renewedMs < LIVE_AFTER_MS) return;
    this.#postedMs = seenMs;
    this.#posted.add(node);
  }

  /** Decides, and logs a change. `syncedMs` is since when both watches have been synced; null while one is not. */
  review(leasedNodes: () => number, syncedMs: number | null): void {
    const { clock, log, profile } = this.#io;
    const [nowMs, renewedMs, posted] = [clock.monotonicMs(), this.#renewedMs, this.#posted.size];
    // The count reads every node, so it is taken only if nothing else shows that all is well.
    const heard = { leasedNodes: posted === 0 ? 0 : leasedNodes(), renewedMs, posted, syncedMs };
    if (renewedMs !== null && isLeasePathBroken(heard, nowMs, profile.nodeMonitorGraceMs)) {
      const wallOf = (instantMs: number): number => clock.wallMs() - (nowMs - instantMs);
      const isNews = this.#broken === null;
      const [renewedAt, postedAt] = [this.#renewedAt, wallOf(this.#postedMs ?? nowMs)];
      this.#broken = { nodes: heard.leasedNodes, renewedAt, posted, postedAt };
      if (isNews) log.warn(leasePathText(this.#broken));
    } else if (this.#broken !== null && posted === 0) {
      this.#broken = null;
      log.info("leases are renewed again");
    }
  }
}
