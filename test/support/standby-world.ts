/**
 * A cluster under processes of which one leads. Each has its own bus, network path and clock, which can be suspended.
 * It records every write with its sender, and every change of the Lease. It asserts nothing.
 */
import type { HttpRequest, Wire } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { LeaderFleet } from "../../services/platform/fleet/leader-fleet.ts";
import { type ElectionTimes, identityOf, memberOf } from "../../services/platform/kube/election/election.policy.ts";
import { LeaderElection, WORK_ELECTION } from "../../services/platform/kube/election/leader-election.ts";
import { WriteGate } from "../../services/platform/kube/election/write-gate.ts";
import { parsed, recordOf, textOf } from "../../services/structures/json.ts";
import { ApiPath } from "../sim/api-path.ts";
import { EVICTING, EvictionWorld } from "./eviction-world.ts";
import { Standstill } from "./standstill.ts";
import type { VirtualProcess } from "./virtual-cluster.ts";

/** The times of kube-controller-manager. */
const ELECTION_TIMES: ElectionTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

const LEASE = { namespace: "kube-system", name: "vigil" } as const;
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/** A write that reached the API server, or a change of the Lease's holder; instants of the virtual clock. */
export interface Sent {
  readonly member: string;
  readonly atMs: number;
}

/** One process. */
export interface Candidate {
  readonly name: string;
  readonly path: ApiPath;
  readonly standstill: Standstill;
  readonly fleet: LeaderFleet;
  readonly process: VirtualProcess;
  readonly election: LeaderElection;
  /** Why it lost its Lease; null before. */
  readonly lost: () => string | null;
  /** Ends it without a release. */
  kill(): void;
}

/** A cluster and its candidates. */
export class StandbyWorld extends EvictionWorld {
  readonly writes: Sent[] = [];
  /** Each holder of the Lease from its first write on; an empty member for a release. */
  readonly holders: Sent[] = [];
  readonly candidates = new Map<string, Candidate>();

  constructor(profile: Partial<Profile> = {}) {
    super({ pulsePeriodMs: 1_000, pulseTimeoutMs: 5_000, ...profile });
  }

  /** Starts a process. One that loses its Lease ends, as `vigil run` does. */
  join(name: string, times: ElectionTimes = ELECTION_TIMES): Candidate {
    const standstill = new Standstill(this.clock);
    const { clock } = standstill;
    const path = new ApiPath({ clock: this.clock, random: this.random(`path/${name}`), count: () => {} });
    const wire = this.#recorded(name, path.over(this.api.wire));
    const gate = new WriteGate(clock);
    const fleet = new LeaderFleet(name);
    const transport = memoryTransport(this.clock);
    const wireOver = () => gate.over(wire);
    const process = this.start(EVICTING, { member: name, fleet, standstill, transport, wireOver });
    const random = this.random(`election/${name}`);
    let why: string | null = null;
    const election = new LeaderElection({
      clock,
      random,
      gate,
      times,
      log: process.log,
      metrics: process.metrics,
      wire: standstill.wire(wire),
      lease: LEASE,
      identity: identityOf(name, random),
      names: WORK_ELECTION,
      watchBlindMs: this.profile.watchBlindMs,
      reachability: null,
      taken: () => fleet.lead(),
      lost: (reason) => {
        why = reason;
        fleet.yield();
        process.kill();
      },
    });
    const kill = (): void => {
      standstill.kill();
      election.stop();
      process.kill();
    };
    const candidate = { name, path, standstill, fleet, process, election, lost: () => why, kill };
    this.candidates.set(name, candidate);
    return candidate;
  }

  /** The member that holds the Lease; empty for none. */
  get holder(): string {
    return this.holders.at(-1)?.member ?? "";
  }

  /** Writes to the Lease as another client does. */
  editLease(spec: Readonly<Record<string, unknown>>): void {
    this.patch({ kind: "Lease", ...LEASE }, { spec });
  }

  /** Writes that reached the API server while a process other than their sender held the Lease. */
  foreignWrites(): Sent[] {
    return this.writes.filter(({ member, atMs }) => {
      const holder = this.holders.findLast((held) => held.atMs <= atMs)?.member ?? "";
      return holder !== member;
    });
  }

  #recorded(member: string, wire: Wire): Wire {
    return {
      send: (request, exchange) => {
        if (request.method === "GET") return wire.send(request, exchange);
        if (!request.path.startsWith(LEASES)) {
          this.writes.push({ member, atMs: this.clock.monotonicMs() });
          return wire.send(request, exchange);
        }
        const response = (status: number, headers: Readonly<Record<string, string>>): void => {
          if (status < 300) this.#onHolder(request);
          exchange.response(status, headers);
        };
        return wire.send(request, { ...exchange, response });
      },
    };
  }

  #onHolder({ body }: HttpRequest): void {
    const holder = textOf(recordOf(recordOf(parsed(body ?? "")).spec).holderIdentity);
    const member = holder === null ? "" : memberOf(holder);
    if (member !== this.holder) this.holders.push({ member, atMs: this.clock.monotonicMs() });
  }
}
