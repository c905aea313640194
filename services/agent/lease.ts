/** Keeps one node's lease renewed at the API (9.12). When to renew is the caller's decision. */
import {
  type Clock,
  type Kube,
  type KubeObject,
  type Log,
  type Timer,
  Urgency,
  type WriteReply,
} from "../../protocols/ports.ts";
import { retryPauseMs } from "../platform/structures/retry-schedule.ts";
import {
  ENSURE_RETRIES,
  type Lease,
  lacksOwner,
  leaseOf,
  leaseRef,
  renewedLease,
  renewPeriodMs,
} from "./lease.policy.ts";
import { removeObject } from "./removal.ts";

/** kubelet's maxUpdateRetries. */
const UPDATE_TRIES = 5;

/** What a lease keeper needs. */
export interface LeaseKeeperOptions {
  readonly clock: Clock;
  readonly kube: Kube;
  readonly log: Log;
  readonly nodeName: string;
  readonly leaseSeconds: number;
  /** Answers with the node's uid, null when it could not be learnt. */
  readonly owner: (done: (uid: string | null) => void) => void;
  /** Called when heartbeats fail again and again: the connection may be dead. */
  readonly onRepeatedFailure?: () => void;
}

/** One renewal under way; replies to one that was given up find another in its place. */
interface RenewalRound {
  readonly done: (renewed: boolean) => void;
  /** Whether the lease was read or made within this round. */
  fresh: boolean;
  /** Tries to update the present lease. */
  updates: number;
  /** Tries to have a lease at all. */
  ensures: number;
}

/**
 * The lease as we last saw or wrote it. After a renewal only its version is new to us, so nothing else is kept anew.
 */
interface KnownLease {
  readonly lease: Lease;
  version: string;
}

/** Keeps one node's lease renewed. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #known: KnownLease | null = null;
  /** Whether the owner in the lease may be one that is no more. */
  #disowned = false;
  #round: RenewalRound | null = null;
  #pause: Timer | null = null;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /**
   * Renews the lease, creating it when it is missing; calls `done` once with whether it now stands renewed. A lease
   * that cannot be read is asked for until `stop` (R9.29, R9.30). A renewal still under way is given up.
   */
  renew(done: (renewed: boolean) => void): void {
    this.stop();
    const round: RenewalRound = { done, fresh: false, updates: 0, ensures: 0 };
    this.#round = round;
    if (this.#known === null) this.#ensure(round);
    else this.#update(round);
  }

  /** Gives up the renewal under way. */
  stop(): void {
    this.#round = null;
    this.#pause?.cancel();
    this.#pause = null;
  }

  /** Forgets the lease, because its node is another one now: the next renewal names the owner anew. */
  forget(): void {
    this.stop();
    this.#known = null;
    this.#disowned = true;
  }

  /** Deletes the lease, but none that another one made since; `done` is called once, whatever comes of it. */
  remove(done: () => void): void {
    const { log, nodeName } = this.#options;
    const uid = this.#known?.lease.metadata.uid;
    this.forget();
    removeObject(this.#options, leaseRef(nodeName), uid, (refusal) => {
      if (refusal !== null) log.warn("lease not deleted", { node: nodeName, detail: refusal });
      done();
    });
  }

  /** GET, and CREATE when there is none, until there is a lease. */
  #ensure(round: RenewalRound): void {
    const { kube, nodeName } = this.#options;
    round.fresh = true;
    kube.read(leaseRef(nodeName), (reply) => {
      if (round !== this.#round) return;
      if (reply.outcome === "ok") {
        this.#known = knownFrom(reply.object);
        this.#update(round);
      } else if (reply.outcome === "gone") {
        this.#known = null;
        this.#create(round);
      } else this.#ensureLater(round, reply.detail);
    });
  }

  /** A lease without its owner would outlive its node, so it is not created while the owner is unknown (R9.31). */
  #create(round: RenewalRound): void {
    const { kube, nodeName, owner, log } = this.#options;
    owner((uid) => {
      if (round !== this.#round) return;
      if (uid === null) {
        log.info("lease not created yet: its node could not be read", { node: nodeName });
        this.#settle(round, false);
        return;
      }
      const ref = leaseRef(nodeName);
      kube.write({ ref, urgency: Urgency.healing, verb: "create", body: this.#body(uid) }, (reply) => {
        if (round !== this.#round) return;
        if (reply.outcome === "ok") this.#remember(round, reply.object, uid);
        else this.#ensureLater(round, reply.detail);
      });
    });
  }

  #ensureLater(round: RenewalRound, detail: string): void {
    const { clock, log, nodeName } = this.#options;
    const pauseMs = retryPauseMs(++round.ensures, ENSURE_RETRIES);
    log.warn("lease could not be had, trying again", { node: nodeName, pauseMs, detail });
    this.#pause = clock.after(pauseMs, () => this.#ensure(round));
  }

  /**
   * The owner is added when it is missing; a failed look-up does not hold back the renewal (better than R9.31, L50).
   */
  #update(round: RenewalRound): void {
    if (this.#disowned || lacksOwner(this.#known?.lease)) this.#options.owner((uid) => this.#put(round, uid));
    else this.#put(round, null);
  }

  #put(round: RenewalRound, uid: string | null): void {
    if (round !== this.#round) return;
    const ref = leaseRef(this.#options.nodeName);
    this.#options.kube.write({ ref, urgency: Urgency.healing, verb: "update", body: this.#body(uid) }, (reply) => {
      if (round !== this.#round) return;
      if (reply.outcome === "ok") this.#remember(round, reply.object, uid);
      else this.#updateFailed(round, reply);
    });
  }

  /**
   * Up to five tries, at once unless the API has no room; a conflict or a missing lease fetches a fresh one; then once
   * more from a fresh one (R9.29, R9.32).
   */
  #updateFailed(round: RenewalRound, reply: Exclude<WriteReply, { outcome: "ok" }>): void {
    const { clock, leaseSeconds, log, nodeName, onRepeatedFailure } = this.#options;
    const { outcome, detail } = reply;
    const stale = outcome === "conflict" || outcome === "gone";
    if (!stale && round.updates > 0) onRepeatedFailure?.();
    round.updates++;
    if (round.updates < UPDATE_TRIES) {
      if (stale) this.#ensure(round);
      else if (outcome === "throttled") {
        // However long the API wants us silent, a lease that is not renewed condemns its node.
        const pauseMs = Math.min(reply.retryAfterMs, renewPeriodMs(leaseSeconds));
        this.#pause = clock.after(pauseMs, () => this.#update(round));
      } else this.#update(round);
      return;
    }
    log.error("lease not renewed", { node: nodeName, tries: round.updates, detail });
    this.#known = null;
    if (round.fresh) {
      this.#settle(round, false);
      return;
    }
    round.updates = 0;
    this.#ensure(round);
  }

  #body(uid: string | null): Lease {
    const { clock, nodeName, leaseSeconds: seconds } = this.#options;
    const { lease = null, version = null } = this.#known ?? {};
    return renewedLease(lease, version, { nodeName, nowMs: clock.wallMs(), seconds, uid });
  }

  /** `uid` is the owner that was written; null when the one that stood there was kept. */
  #remember(round: RenewalRound, object: KubeObject, uid: string | null): void {
    if (this.#known === null || uid !== null) this.#known = knownFrom(object);
    else this.#known.version = object.metadata.resourceVersion ?? "";
    this.#disowned &&= uid === null;
    this.#settle(round, true);
  }

  #settle(round: RenewalRound, renewed: boolean): void {
    this.#round = null;
    round.done(renewed);
  }
}

function knownFrom(object: KubeObject): KnownLease {
  return { lease: leaseOf(object), version: object.metadata.resourceVersion ?? "" };
}
