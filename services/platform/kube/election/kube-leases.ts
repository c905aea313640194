/**
 * Leases that protect one task each. A process that loses such a Lease pauses the task and is a candidate again at
 * once. Leader election differs: its Lease is for the whole process, which ends when it loses it.
 */
import type { ContestedLease, Io, LastHolder, LeaseCandidate, Leases } from "../../../../protocols/ports.ts";
import { MemoryHealth } from "../../process/memory-health.ts";
import {
  type ElectionLease,
  type ElectionTimes,
  handoverOf,
  holderOf,
  identityOf,
  isNeverHeld,
  memberOf,
} from "./election.policy.ts";
import { type ElectionNames, LeaderElection } from "./leader-election.ts";
import type { LeaseWatchIo } from "./lease-watch.ts";
import { WriteGate } from "./write-gate.ts";

/**
 * The defaults of client-go, apart from the pause after a renewal: otherwise renewals would be most of the requests of
 * an idle Vigil with limits. A renewal may be refused twice before the deadline. The Lease can be taken five seconds
 * after its holder has stopped, at the earliest.
 */
const TIMES: ElectionTimes = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
  renewPeriodMs: 4_000,
};

/** The ports of the candidates of one process; the wire is behind no gate. */
export interface KubeLeasesOptions extends Omit<LeaseWatchIo, "lease">, Pick<Io, "metrics"> {
  readonly member: string;
}

/** Leases for which nothing else competes: each counts as held, after this holder. */
export function uncontestedLeases(last: LastHolder): Leases {
  return {
    compete(_lease, taken) {
      taken(last);
      return { isHeld: () => true, holder: () => null, release: () => {} };
    },
  };
}

/** Leases of a process that writes nothing, or has no API server. */
export const UNCONTESTED_LEASES: Leases = uncontestedLeases({ kind: "unknown" });

/** One candidacy: the Lease, the identity of the candidate, and what it calls. */
interface Candidacy {
  readonly lease: ContestedLease;
  readonly names: ElectionNames;
  readonly identity: string;
  readonly taken: (last: LastHolder) => void;
  readonly memory: MemoryHealth;
}

/** The candidates of one process. */
export class KubeLeases implements Leases {
  readonly #options: KubeLeasesOptions;
  #identity: string | null = null;
  #releasing = 0;
  #whenReleased: (() => void) | null = null;

  constructor(options: KubeLeasesOptions) {
    this.#options = options;
  }

  compete(lease: ContestedLease, taken: (last: LastHolder) => void): LeaseCandidate {
    const { member, random, metrics } = this.#options;
    // One for all candidacies, so that the Lease shows whether another process has held it in between.
    this.#identity ??= identityOf(member, random);
    const names = namesOf(lease);
    const memory = new MemoryHealth(this.#options);
    const candidate = new Candidate(this.#options, { lease, names, identity: this.#identity, taken, memory });
    return {
      isHeld: () => candidate.isHeld(),
      holder: () => candidate.holder(),
      release: (handover) => {
        this.#releasing += 1;
        candidate.release(handover, () => {
          this.#releasing -= 1;
          if (this.#releasing === 0) this.#whenReleased?.();
        });
        metrics.gauge(names.gauge).remove();
        memory.stop();
      },
    };
  }

  /** Calls `done` once no release is in flight. */
  whenReleased(done: () => void): void {
    if (this.#releasing === 0) done();
    else this.#whenReleased = done;
  }
}

/** One candidacy, over any number of elections. */
class Candidate {
  readonly #options: KubeLeasesOptions;
  readonly #candidacy: Candidacy;
  readonly #gate: WriteGate;
  #election: LeaderElection;

  constructor(options: KubeLeasesOptions, candidacy: Candidacy) {
    this.#options = options;
    this.#candidacy = candidacy;
    this.#gate = new WriteGate(options.clock);
    this.#election = this.#stand();
  }

  isHeld(): boolean {
    return this.#gate.isOpen;
  }

  holder(): string | null {
    const { holder } = this.#election.report();
    return holder === null ? null : memberOf(holder);
  }

  release(handover: string, done: () => void): void {
    this.#election.release(done, handover);
  }

  #stand(): LeaderElection {
    const { lease, names, identity, taken, memory } = this.#candidacy;
    const { log } = this.#options;
    return new LeaderElection({
      ...this.#options,
      gate: this.#gate,
      lease,
      names,
      identity,
      times: TIMES,
      memory,
      taken: (before) => taken(lastHolderOf(before, identity)),
      lost: (why) => {
        log.warn(`${names.lease} is lost`, { why });
        this.#election = this.#stand();
      },
    });
  }
}

function lastHolderOf(before: ElectionLease | null, identity: string): LastHolder {
  if (before === null || isNeverHeld(before)) return { kind: "none" };
  if (holderOf(before) === identity) return { kind: "self" };
  const handover = handoverOf(before);
  return handover === null ? { kind: "unknown" } : { kind: "released", handover };
}

function namesOf({ namespace, name, gauge }: ContestedLease): ElectionNames {
  const lease = `the Lease ${namespace}/${name}`;
  return {
    gauge: {
      name: gauge,
      help: `1 while this process holds ${lease}, 0 while it waits for it; absent while it needs none.`,
    },
    lease,
    leads: "holds a Lease from now on",
    waits: "waits for a Lease: another process holds it",
  };
}
