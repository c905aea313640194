/** Renews one node's lease at the API, and deletes it with its node. The caller decides when. */
import {
  type Clock,
  type Io,
  type Kube,
  type KubeObject,
  type ObjectRef,
  type Timer,
  Urgency,
  type WriteReply,
} from "../../protocols/ports.ts";
import { retryPauseMs } from "../structures/retry-schedule.ts";
import {
  ENSURE_RETRIES,
  type Lease,
  lacksOwner,
  leaseOf,
  leaseRef,
  renewedLease,
  renewPeriodMs,
} from "./lease.policy.ts";

/** kubelet's maxUpdateRetries. */
const UPDATE_TRIES = 5;

/** The ports and settings of a lease keeper. */
export interface LeaseKeeperOptions extends Pick<Io, "clock" | "kube" | "log"> {
  readonly nodeName: string;
  readonly leaseSeconds: number;
  /** Reads the node's uid; null if that fails. */
  readonly owner: (done: (uid: string | null) => void) => void;
  /** Called when renewals fail repeatedly, because the connection may be dead. */
  readonly onRepeatedFailure?: () => void;
}

/** One renewal. Replies to a cancelled one are recognised by its absence from `#round`. */
interface RenewalRound {
  readonly done: (renewed: boolean) => void;
  /** Whether the lease was read or created in this round. */
  fresh: boolean;
  /** Attempts to update the present lease. */
  updates: number;
  /** Attempts to read or create the lease. */
  ensures: number;
}

/** The lease as last read or written. A renewal changes only its version. */
interface KnownLease {
  readonly lease: Lease;
  version: string;
}

/** Renews one node's lease. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #known: KnownLease | null = null;
  /** Whether the owner in the lease may be gone. */
  #disowned = false;
  #round: RenewalRound | null = null;
  #pause: Timer | null = null;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /**
   * Renews the lease, or creates a missing one, and calls `done` once with whether that succeeded. Retries to read the
   * lease until `stop` (R9.29, R9.30). Cancels a renewal under way.
   */
  renew(done: (renewed: boolean) => void): void {
    this.stop();
    const round: RenewalRound = { done, fresh: false, updates: 0, ensures: 0 };
    this.#round = round;
    if (this.#known === null) this.#ensure(round);
    else this.#update(round);
  }

  /** Cancels the renewal under way. */
  stop(): void {
    this.#round = null;
    this.#pause?.cancel();
    this.#pause = null;
  }

  /** Forgets the lease after its node was replaced; the next renewal sets the owner again. */
  forget(): void {
    this.stop();
    this.#known = null;
    this.#disowned = true;
  }

  /** Deletes the lease, unless it was replaced since; calls `done` once, also after a failure. */
  remove(done: () => void): void {
    const { log, nodeName } = this.#options;
    const uid = this.#known?.lease.metadata.uid;
    this.forget();
    removeObject(this.#options, leaseRef(nodeName), uid, (refusal) => {
      if (refusal !== null) log.warn("lease not deleted", { node: nodeName, detail: refusal });
      done();
    });
  }

  /** Reads the lease or creates it, until there is one. */
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

  /** A lease without an owner would outlive its node, so it is created only once the owner is known (R9.31). */
  #create(round: RenewalRound): void {
    const { kube, nodeName, owner, log } = this.#options;
    owner((uid) => {
      if (round !== this.#round) return;
      if (uid === null) {
        log.info("lease not created: its node could not be read", { node: nodeName });
        this.#settle(round, false);
        return;
      }
      const ref = leaseRef(nodeName);
      kube.write({ ref, urgency: Urgency.healing, verb: "create", body: this.#body(uid) }, (reply) => {
        if (round !== this.#round) return;
        if (reply.outcome === "ok") this.#accept(round, reply.object, uid);
        else this.#ensureLater(round, reply.detail);
      });
    });
  }

  #ensureLater(round: RenewalRound, detail: string): void {
    const { clock, log, nodeName } = this.#options;
    const pauseMs = retryPauseMs(++round.ensures, ENSURE_RETRIES);
    log.warn("lease neither read nor created, retrying", { node: nodeName, pauseMs, detail });
    this.#pause = clock.after(pauseMs, () => this.#ensure(round));
  }

  /** Adds a missing owner. A failed read of the owner does not delay the renewal (better than R9.31, L50). */
  #update(round: RenewalRound): void {
    if (this.#disowned || lacksOwner(this.#known?.lease)) this.#options.owner((uid) => this.#put(round, uid));
    else this.#put(round, null);
  }

  #put(round: RenewalRound, uid: string | null): void {
    if (round !== this.#round) return;
    const ref = leaseRef(this.#options.nodeName);
    // A lease with a new owner is kept as the API has it.
    const change = { verb: "update", body: this.#body(uid), isVersionEnough: uid === null } as const;
    this.#options.kube.write({ ref, urgency: Urgency.healing, ...change }, (reply) => {
      if (round !== this.#round) return;
      if (reply.outcome === "ok") this.#accept(round, reply.object, uid);
      else this.#updateFailed(round, reply);
    });
  }

  /**
   * Up to five attempts, without a pause unless throttled. A conflict or a missing lease leads to a fresh read. After
   * the last attempt, five more follow on a fresh lease (R9.29, R9.32).
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
        // A longer pause than the renewal period could make the node silent.
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

  /** `uid` is the owner that was written; null if the present one was kept. */
  #accept(round: RenewalRound, object: KubeObject, uid: string | null): void {
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

const DELETE_TRIES = 5;
/** The longest pause after throttling. */
const PAUSE_MS_MAX = 2_000;

/**
 * Deletes an object, with this uid if given, and retries a few times while throttled. Calls `done` once: with the
 * error, or null if the object is gone.
 */
export function removeObject(
  io: { readonly clock: Clock; readonly kube: Kube },
  ref: ObjectRef,
  uid: string | undefined,
  done: (refusal: string | null) => void,
  tried = 1,
): void {
  const precondition = uid === undefined ? {} : { uid };
  io.kube.write({ ref, urgency: Urgency.healing, verb: "delete", ...precondition }, (reply) => {
    if (reply.outcome === "throttled" && tried < DELETE_TRIES) {
      const pauseMs = Math.min(reply.retryAfterMs, PAUSE_MS_MAX);
      io.clock.after(pauseMs, () => removeObject(io, ref, uid, done, tried + 1));
    } else done(reply.outcome === "ok" || reply.outcome === "gone" ? null : reply.detail);
  });
}
