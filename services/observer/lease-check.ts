/** Finds out whether a quiet lease watch is stale, by comparing it with live reads. It holds no lease. */
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { Io, KubeObject, Timer } from "../../protocols/ports.ts";
import { epochMsOf } from "../domain/api-time.ts";

/** A read may be ahead of a healthy watch by as much as an event is under way. */
const CATCH_UP_MS = 1_000;

/** How many leases one check compares; with several, dead nodes among them hide nothing. */
const LEASES_PER_CHECK = 3;

/** What a check needs to know of the leases. */
export interface KnownLeases {
  /** Names of some leases, chosen by chance. */
  sample(count: number): string[];
  /** The renewTime as watched; undefined when no such lease is known. */
  renewedAt(name: string): number | null | undefined;
  /** The watch was found stale. */
  stale(detail: string): void;
}

/**
 * Watches over the lease watch. A node's renewals come every ten seconds, so in all but an empty cluster silence is
 * suspect.
 */
export class LeaseCheck {
  readonly #io: Io;
  readonly #leases: KnownLeases;
  #receivedMs: number;
  #timer: Timer;
  #hasEnded = false;

  constructor(io: Io, leases: KnownLeases) {
    this.#io = io;
    this.#leases = leases;
    this.#receivedMs = io.clock.monotonicMs();
    this.#timer = io.clock.after(io.profile.watchQuietMs, () => this.#check());
  }

  /** An event of the lease watch came. */
  received(): void {
    this.#receivedMs = this.#io.clock.monotonicMs();
  }

  /** Compares one lease now: someone has read a newer one than we told. */
  compare(name: string): void {
    this.#io.kube.read({ kind: "Lease", namespace: LEASE_NAMESPACE, name }, (reply) => {
      if (this.#hasEnded || (reply.outcome !== "ok" && reply.outcome !== "gone")) return;
      const live = reply.outcome === "ok" ? renewTimeOf(reply.object) : undefined;
      if (this.#isBehind(name, live)) this.#io.clock.after(CATCH_UP_MS, () => this.#conclude(name, live));
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

  #conclude(name: string, live: number | null | undefined): void {
    if (this.#hasEnded || !this.#isBehind(name, live)) return;
    this.#leases.stale(`the lease of ${name} is newer than the watch has told`);
  }

  #isBehind(name: string, live: number | null | undefined): boolean {
    const watched = this.#leases.renewedAt(name);
    if (watched === undefined || live === undefined) return watched !== live;
    return live !== null && (watched === null || live > watched);
  }
}

function renewTimeOf({ spec }: KubeObject): number | null {
  const renewTime = typeof spec === "object" && spec !== null && "renewTime" in spec ? spec.renewTime : null;
  return typeof renewTime === "string" ? epochMsOf(renewTime) : null;
}
