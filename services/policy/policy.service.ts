/**
 * The policy service. It reads the NodePolicy objects and the `policies:` of --config, checks them, and publishes those
 * in force: one `judged.policy` each, then `judged.policies` with the versions of all. Every process has the full set
 * (platform/node-policies) and resolves a node's policy by its labels (domain/node-policy.ts).
 *
 *   NodePolicy objects ──watch──┐
 *                               ├─▶ resolved-policies ──▶ judged.policy, judged.policies ──▶ io.policies of services
 *   policies: of --config ──────┤
 *   ConfigMap vigil-freeze ─────┘  (freezes.ts: when nodes were and are frozen)
 *
 *   nodes that are not Ready ──▶ objects of remediations, judged.remediations   (remediations/)
 *
 *   observed.pulse ──▶ ConfigMap vigil-freeze ──▶ judged.policies   (outage-memory.ts: when no node could be heard)
 *
 *   judged.limits ◀──▶ ConfigMap vigil-freeze ──▶ judged.memory   (limit-memory.ts: breakers that are open)
 *
 * A field that a service honours is read there: `policyOf(node, io.policies.current())` gives the policy, and
 * `io.policies.follow` reports changes. `unknown` means that the policies, or the labels of this node, have not
 * arrived: then request nothing harmful, and continue to heal.
 *
 * The process that owns shard 0 is active. It publishes on every change, when a process joins, and from time to time,
 * because messages get lost: then the versions of all, and a few policies in turn, which rarely change and are long. It
 * publishes nothing before it knows all policies. After a suspension it lists them again first: to readers a later
 * message is a newer one, and another process may have published a freeze meanwhile.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import type { Io, Service, Stop, Timer } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { fnv1a } from "../../protocols/subjects.ts";
import { hasCeiling, hasClusterBreaker, hasLimits, POLICY_CEILING, WHOLE_CLUSTER } from "../domain/limited-policies.ts";
import { type ConfiguredPolicy, nodePolicyOf } from "../domain/node-policy.parse.ts";
import { MemoryHealth } from "../platform/process/memory-health.ts";
import { pauseUntilPulseMs } from "../platform/process/pulse.policy.ts";
import { BoundedMap } from "../structures/bounded-map.ts";
import { EVERYWHERE, publishedRequests } from "./freezes.policy.ts";
import { Freezes } from "./freezes.ts";
import { LimitMemoryStore } from "./limit-memory.ts";
import { OutageMemory } from "./outage-memory.ts";
import { PolicyObjects } from "./policy-objects.ts";
import { PolicyStatuses } from "./policy-statuses.ts";
import { Remediations } from "./remediations/remediations.ts";
import { type ResolvedPolicy, refusedFields, resolvedPolicies } from "./resolved-policies.policy.ts";

/** The shard of the policy service whose owner is active. */
const ACTIVE_SHARD = 0;
/** How often the versions are published again, in milliseconds. */
const REPEAT_MS = 5_000;
/** How many policies are published again with them: of twenty, each every 50 s. */
const REPEATED_POLICIES = 2;
/** For how long a new version is published each time, in milliseconds, in case a process missed it. */
const NEW_MS = 15_000;
/** How long changes and new processes are collected before everything is published, in milliseconds. */
const COLLECT_MS = 100;
/** A process whose timer is later than this was suspended, in milliseconds: no other process takes over so soon. */
const STANDSTILL_MS = 1_000;
/** Members that are remembered as known; one that is forgotten only makes the policies be published once more. */
const MEMBERS_MAX = 1_000;

/** The policy service with these policies of --config. */
export function policyService(configured: readonly ConfiguredPolicy[]): Service {
  return (io) => {
    let active: ActivePolicies | null = null;
    const end = (): void => {
      active?.stop();
      active = null;
    };
    const stopFollowing = io.fleet.follow("policy", {
      gained: (shard) => {
        if (shard === ACTIVE_SHARD) active ??= new ActivePolicies(io, configured);
      },
      lost: (shard) => {
        if (shard === ACTIVE_SHARD) end();
      },
    });
    return () => {
      stopFollowing();
      end();
    };
  };
}

/** The version of a policy that is published, and since when. */
interface PublishedVersion {
  readonly version: string;
  readonly sinceMs: number;
}

/** Reads and publishes the policies until it is stopped. */
class ActivePolicies {
  readonly #io: Io;
  readonly #configured: readonly ConfiguredPolicy[];
  readonly #members = new BoundedMap<string, number>(MEMBERS_MAX);
  readonly #reported = new Set<string>();
  readonly #objects: PolicyObjects;
  readonly #statuses: PolicyStatuses;
  readonly #remediations: Remediations;
  readonly #stops: readonly Stop[];
  /** Whether both sources were confirmed after each other, so that together they are of one instant. */
  #isOrdered = false;
  readonly #health: MemoryHealth;
  readonly #freezes: Freezes;
  #resolved: readonly ResolvedPolicy[] = [];
  /** The policies with limits, and what limits the whole cluster and all policies together. */
  #limited: readonly string[] = [];
  readonly #limits: LimitMemoryStore;
  #outages: OutageMemory | null = null;
  #published: ReadonlyMap<string, PublishedVersion> = new Map();
  /** The place of the policy that is published next. */
  #turn = 0;
  #timer: Timer;
  #dueMs: number;
  #isStopped = false;
  /** The present attempt to confirm both sources. */
  #round: object | null = null;
  /** Whether the next publication is for a new process, or of a change. */
  #isForAll = true;

  constructor(io: Io, configured: readonly ConfiguredPolicy[]) {
    this.#io = io;
    this.#configured = configured;
    this.#dueMs = io.clock.monotonicMs() + REPEAT_MS;
    this.#timer = io.clock.after(REPEAT_MS, () => this.#due());
    this.#health = new MemoryHealth(io);
    this.#freezes = new Freezes(io, this.#health, {
      changed: () => this.#changed(),
      loosened: (confirmed) => this.#objects.confirmation.confirm(confirmed),
    });
    // Beside upstream Vigil evicts no pod, so no countdown needs the memory.
    if (io.profile.upstream !== "beside") this.#outages = new OutageMemory(io, this.#health, () => this.#publishSoon());
    this.#limits = new LimitMemoryStore(io, this.#health);
    this.#remediations = new Remediations(io, this.#health, () => this.#outages?.observed ?? []);
    this.#statuses = new PolicyStatuses(io, {
      remediations: (policy) => this.#remediations.problemOf(policy),
      memory: () => this.#health.problems(),
    });
    this.#objects = new PolicyObjects(io, {
      changed: () => this.#changed(),
      loosened: (confirmed) => this.#freezes.confirmation.confirm(confirmed),
    });
    this.#stops = [
      io.bus.subscribe("pulse.member", "all", ({ body: { member, since } }) => {
        if (this.#members.get(member) === since) return;
        this.#members.set(member, since);
        this.#publishSoon();
      }),
    ];
  }

  stop(): void {
    this.#isStopped = true;
    this.#objects.stop();
    this.#freezes.stop();
    this.#limits.stop();
    this.#outages?.stop();
    this.#statuses.stop();
    this.#remediations.stop();
    this.#health.stop();
    this.#timer.cancel();
    for (const stop of this.#stops) stop();
  }

  #changed(): void {
    if (this.#isOrdered) this.#resolve();
    else if (this.#objects.isKnown && this.#freezes.isKnown) this.#order();
  }

  /**
   * Confirms both sources, one after the other and the first again, before anything is published: what was listed first
   * may have changed before the other was listed. Each change meanwhile restarts it.
   */
  #order(): void {
    const round = {};
    this.#round = round;
    const next = (run: () => void) => (): void => {
      if (this.#round === round && !this.#isStopped) run();
    };
    const [freezes, objects] = [this.#freezes.confirmation, this.#objects.confirmation];
    const end = next(() => {
      this.#isOrdered = true;
      this.#objects.isFirst = false;
      this.#resolve();
    });
    freezes.confirm(next(() => objects.confirm(next(() => freezes.confirm(end)))));
  }

  /** Whether every policy and every freeze is known. */
  get #areKnown(): boolean {
    return this.#isOrdered && this.#objects.isKnown && this.#freezes.isKnown;
  }

  #resolve(): void {
    if (!this.#areKnown) return;
    if (this.#freezes.hasHole) this.#limits.distrust();
    this.#resolved = resolvedPolicies(this.#configured, [...this.#objects.resources.values()], this.#io.profile);
    this.#limited = limitedPolicies(this.#resolved, this.#io.profile);
    this.#updateFreezes();
    this.#outages?.shown(this.#freezes.resource);
    this.#report();
    this.#statuses.update(this.#resolved, this.#objects.resources);
    const inForce = this.#resolved.filter(({ source, spec }) => source === "resource" && spec !== null);
    this.#remediations.update(
      new Map(inForce.map(({ name }) => [name, this.#objects.resources.get(name)?.uid ?? null])),
    );
    this.#publishSoon();
  }

  /** Logs each problem once, until it is solved. */
  #report(): void {
    const lines = new Set(
      this.#resolved.flatMap(({ name, problems }) => problems.map((problem) => `NodePolicy ${name}: ${problem}`)),
    );
    for (const line of lines) if (!this.#reported.has(line)) this.#io.log.warn(line);
    this.#reported.clear();
    for (const line of lines) this.#reported.add(line);
  }

  #publishSoon(): void {
    this.#isForAll = true;
    const dueMs = this.#io.clock.monotonicMs() + COLLECT_MS;
    if (this.#dueMs <= dueMs) return;
    this.#timer.cancel();
    this.#dueMs = dueMs;
    this.#timer = this.#io.clock.after(COLLECT_MS, () => this.#due());
  }

  /**
   * Publishes after what waits in sockets was read, because overdue timers fire first. The watches of a process that
   * was suspended may be dead unnoticed, so it lists again.
   */
  #due(): void {
    const { clock } = this.#io;
    if (clock.monotonicMs() - this.#dueMs > STANDSTILL_MS) this.#readAgain();
    const pauseMs = this.#pauseMs();
    this.#dueMs = clock.monotonicMs() + pauseMs;
    this.#timer = clock.after(pauseMs, () => this.#due());
    clock.soon(() => {
      if (this.#areKnown && !this.#isStopped) this.#publish();
    });
  }

  /** Until the next publication. With policies it coincides with a pulse, for which the process wakes anyway. */
  #pauseMs(): number {
    return this.#resolved.length === 0 ? REPEAT_MS : pauseUntilPulseMs(this.#io.clock.wallMs(), REPEAT_MS);
  }

  #readAgain(): void {
    this.#isOrdered = false;
    const reason = "this process was suspended";
    this.#objects.readAgain(reason);
    this.#freezes.readAgain(reason);
  }

  #publish(): void {
    const { bus, clock } = this.#io;
    this.#updateFreezes();
    const bodies = this.#bodies();
    for (const body of this.#dueOf(bodies)) bus.publish("judged.policy", body, null);
    const policies = bodies.map(({ policy, version }) => ({ policy, version }));
    const frozen = this.#freezes.frozen(EVERYWHERE);
    const pauseRequests = publishedRequests(this.#freezes.requests(EVERYWHERE), clock.wallMs());
    const everywhere = {
      ...(frozen.length === 0 ? {} : { frozen: [...frozen] }),
      ...(pauseRequests.length === 0 ? {} : { pauseRequests }),
      outages: [...(this.#outages?.remembered ?? [])],
    };
    bus.publish("judged.policies", { policies, ...everywhere }, null);
    // Beside upstream nothing is limited for a while, and nothing is written.
    if (this.#io.profile.upstream !== "beside") this.#limits.shown(this.#freezes.resource);
    this.#limits.publish(this.#limited, this.#isForAll);
    this.#isForAll = false;
  }

  /** What is published of each policy in force. */
  #bodies(): BodyOf<"judged.policy">[] {
    return this.#resolved.flatMap((resolved) => {
      if (resolved.spec === null) return [];
      const { name, version: specVersion } = resolved;
      const { spec, frozen } = this.#frozenSpec(name, resolved.spec);
      const more = { ...(frozen.length > 0 && { frozen }), ...refusedFields(resolved) };
      const isPlain = spec === resolved.spec && Object.keys(more).length === 0;
      const version = isPlain ? specVersion : fnv1a(JSON.stringify([spec, more])).toString(16);
      return [{ policy: name, version, spec, ...more }];
    });
  }

  /** The policies to publish now: all for a new process, otherwise what is new, and a few of the others in turn. */
  #dueOf(bodies: readonly BodyOf<"judged.policy">[]): readonly BodyOf<"judged.policy">[] {
    const nowMs = this.#io.clock.monotonicMs();
    const since = bodies.map(({ policy, version }): [string, PublishedVersion] => {
      const before = this.#published.get(policy);
      return [policy, before?.version === version ? before : { version, sinceMs: nowMs }];
    });
    this.#published = new Map(since);
    const from = this.#turn < bodies.length ? this.#turn : 0;
    this.#turn = from + REPEATED_POLICIES;
    return bodies.filter(({ policy }, place) => {
      const isNew = nowMs - (this.#published.get(policy)?.sinceMs ?? nowMs) <= NEW_MS;
      return this.#isForAll || isNew || (place >= from && place < this.#turn);
    });
  }

  #updateFreezes(): void {
    this.#freezes.update(this.#resolved);
  }

  /** A policy with the requests of the ConfigMap, and when its nodes were and are frozen. */
  #frozenSpec(name: string, spec: NodePolicySpec): { spec: NodePolicySpec; frozen: FrozenInterval[] } {
    const requests = [...(spec.pauseRequests ?? []), ...this.#freezes.requests(name)];
    const pauseRequests = publishedRequests(requests, this.#io.clock.wallMs());
    return {
      spec: requests.length === 0 ? spec : { ...spec, pauseRequests },
      frozen: [...this.#freezes.frozen(name)],
    };
  }
}

/** The policies with limits, and what limits the whole cluster and all policies; beside upstream nothing is limited. */
function limitedPolicies(resolved: readonly ResolvedPolicy[], profile: Profile): readonly string[] {
  if (profile.upstream === "beside") return [];
  const policies = resolved.flatMap(({ name, spec }) => (spec === null ? [] : [nodePolicyOf(name, spec)]));
  return [
    ...(hasClusterBreaker(profile) ? [WHOLE_CLUSTER] : []),
    ...(hasCeiling(policies, profile) ? [POLICY_CEILING] : []),
    ...policies.filter(hasLimits).map(({ name }) => name),
  ];
}
