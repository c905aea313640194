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
import { ensurePauseMs, type Lease, lacksOwner, leaseOf, leaseRef, renewedLease } from "./lease.policy.ts";

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
interface Renewal {
  readonly done: (renewed: boolean) => void;
  /** Whether the lease was read or made within this renewal. */
  fresh: boolean;
  /** Tries to update the present lease. */
  updates: number;
  /** Tries to have a lease at all. */
  ensures: number;
}

/** Keeps one node's lease renewed. */
export class LeaseKeeper {
  readonly #options: LeaseKeeperOptions;
  #latest: Lease | null = null;
  /** Whether the owner in the lease may be one that is no more. */
  #disowned = false;
  #renewal: Renewal | null = null;
  #pause: Timer | null = null;

  constructor(options: LeaseKeeperOptions) {
    this.#options = options;
  }

  /**
   * Renews the lease, creating it when it is missing; calls `done` once with whether it now stands renewed. A lease
   * that
   * cannot be read is asked for until `stop` (R9.29, R9.30). A renewal still under way is given up.
   */
  renew(done: (renewed: boolean) => void): void {
    this.stop();
    const renewal: Renewal = { done, fresh: false, updates: 0, ensures: 0 };
    this.#renewal = renewal;
    if (this.#latest === null) this.#ensure(renewal);
    else this.#update(renewal);
  }

  /** Gives up the renewal under way. */
  stop(): void {
    this.#renewal = null;
    this.#pause?.cancel();
    this.#pause = null;
  }

  /** Forgets the lease, because its node is another one now: the next renewal names the owner anew. */
  forget(): void {
    this.stop();
    this.#latest = null;
    this.#disowned = true;
  }

  /** Deletes the lease; `done` is called once, whatever comes of it. */
  remove(done: () => void): void {
    this.forget();
    const ref = leaseRef(this.#options.nodeName);
    this.#options.kube.write({ ref, urgency: Urgency.healing, verb: "delete" }, done);
  }

  /** GET, and CREATE when there is none, until there is a lease. */
  #ensure(renewal: Renewal): void {
    const { kube, nodeName } = this.#options;
    renewal.fresh = true;
    kube.read(leaseRef(nodeName), (reply) => {
      if (renewal !== this.#renewal) return;
      if (reply.outcome === "ok") {
        this.#latest = leaseOf(reply.object);
        this.#update(renewal);
      } else if (reply.outcome === "gone") this.#create(renewal);
      else this.#ensureLater(renewal, reply.detail);
    });
  }

  /** A lease without its owner would outlive its node, so it is not created while the owner is unknown (R9.31). */
  #create(renewal: Renewal): void {
    const { clock, kube, nodeName, leaseSeconds, owner, log } = this.#options;
    owner((uid) => {
      if (renewal !== this.#renewal) return;
      if (uid === null) {
        log.warn("lease not created: its node could not be read", { node: nodeName });
        this.#settle(renewal, false);
        return;
      }
      const body = renewedLease(nodeName, null, clock.wallMs(), leaseSeconds, uid);
      kube.write({ ref: leaseRef(nodeName), urgency: Urgency.healing, verb: "create", body }, (reply) => {
        if (renewal !== this.#renewal) return;
        if (reply.outcome === "ok") this.#remember(renewal, reply.object, uid);
        else this.#ensureLater(renewal, reply.detail);
      });
    });
  }

  #ensureLater(renewal: Renewal, detail: string): void {
    const { clock, log, nodeName } = this.#options;
    const pauseMs = ensurePauseMs(renewal.ensures++);
    log.warn("lease could not be had, trying again", { node: nodeName, pauseMs, detail });
    this.#pause = clock.after(pauseMs, () => this.#ensure(renewal));
  }

  /**
   * The owner is added when it is missing; a failed look-up does not hold back the renewal (better than R9.31, L50).
   */
  #update(renewal: Renewal): void {
    if (this.#disowned || lacksOwner(this.#latest)) this.#options.owner((uid) => this.#put(renewal, uid));
    else this.#put(renewal, null);
  }

  #put(renewal: Renewal, uid: string | null): void {
    if (renewal !== this.#renewal) return;
    const { clock, kube, nodeName, leaseSeconds } = this.#options;
    const body = renewedLease(nodeName, this.#latest, clock.wallMs(), leaseSeconds, uid);
    kube.write({ ref: leaseRef(nodeName), urgency: Urgency.healing, verb: "update", body }, (reply) => {
      if (renewal !== this.#renewal) return;
      if (reply.outcome === "ok") this.#remember(renewal, reply.object, uid);
      else this.#updateFailed(renewal, reply);
    });
  }

  /**
   * Up to five tries at once, a conflict or a missing lease fetches a fresh one; then once more from a fresh one
   * (R9.29, R9.32).
   */
  #updateFailed(renewal: Renewal, { outcome, detail }: Exclude<WriteReply, { outcome: "ok" }>): void {
    const { log, nodeName, onRepeatedFailure } = this.#options;
    const stale = outcome === "conflict" || outcome === "gone";
    if (!stale && renewal.updates > 0) onRepeatedFailure?.();
    renewal.updates++;
    if (renewal.updates < UPDATE_TRIES) {
      if (stale) this.#ensure(renewal);
      else this.#update(renewal);
      return;
    }
    log.error("lease not renewed", { node: nodeName, tries: renewal.updates, detail });
    this.#latest = null;
    if (renewal.fresh) {
      this.#settle(renewal, false);
      return;
    }
    renewal.updates = 0;
    this.#ensure(renewal);
  }

  /** `uid` is the owner that was written; null when the one that stood there was kept. */
  #remember(renewal: Renewal, object: KubeObject, uid: string | null): void {
    this.#latest = leaseOf(object);
    this.#disowned &&= uid === null;
    this.#settle(renewal, true);
  }

  #settle(renewal: Renewal, renewed: boolean): void {
    this.#renewal = null;
    renewal.done(renewed);
  }
}
