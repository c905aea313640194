/** Hears the heartbeats of all nodes, and says when leases are not renewed any more while statuses still arrive. */
import type { BrokenLeasePath } from "../../protocols/observed.ts";
import type { Io } from "../../protocols/ports.ts";
import { leasePathText } from "../platform/shard-view/lease-path-text.ts";
import { isLeasePathBroken, LIVE_AFTER_MS } from "./lease-path.policy.ts";

/** The path of leases, as one observer hears it. */
export class LeasePathHealth {
  readonly #io: Pick<Io, "clock" | "log" | "profile">;
  #renewedMs: number | null = null;
  /** The latest renewal by its stamp, which is older than `#renewedMs` where leases were only listed. */
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

  /** Takes a renewal of any lease, and when it was made: the earlier of its stamp and the present instant. */
  renewed(seenMs: number, renewedAt: number): void {
    if (renewedAt > this.#renewedAt) this.#renewedAt = renewedAt;
    if (this.#renewedMs === null || seenMs > this.#renewedMs) this.#renewedMs = seenMs;
    if (this.#posted.size > 0) this.#posted.clear();
  }

  /** Takes a status that a kubelet has posted. */
  posted(node: string, seenMs: number): void {
    if (this.#renewedMs === null || seenMs - this.#renewedMs < LIVE_AFTER_MS) return;
    this.#postedMs = seenMs;
    this.#posted.add(node);
  }

  /** Decides, and logs a change. `syncedMs` is since when both watches have been synced; null while one is not. */
  review(leasedNodes: () => number, syncedMs: number | null): void {
    const { clock, log, profile } = this.#io;
    const [nowMs, renewedMs, posted] = [clock.monotonicMs(), this.#renewedMs, this.#posted.size];
    // Every node is looked at to count them, so that is left for when nothing else says that all is well.
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
