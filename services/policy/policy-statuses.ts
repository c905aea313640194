/**
 * Writes the status of NodePolicy objects: counts the nodes of each policy, and patches an object whose status differs
 * from what it should be. It follows the nodes only once there is a policy. What changed in a status that the watch
 * shows becomes Events.
 */
import type { BodyOf } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { PolicyOfNode } from "../../protocols/policy-set.ts";
import {
  type Io,
  type PolicyResource,
  type Stop,
  type Timer,
  Urgency,
  type WriteReply,
} from "../../protocols/ports.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { freezeReport } from "../domain/freeze-report.ts";
import { CEILING_FLAG, evictsForConditions, hasLimits, POLICY_CEILING } from "../domain/limited-policies.ts";
import { readyConditionOf } from "../domain/node-conditions.ts";
import { policyOf } from "../domain/node-policy.ts";
import { EventRecorder } from "../platform/kube/events/event-recorder.ts";
import { feedShard, type ShardFeed } from "../platform/shard-view/shard-feed.ts";
import { type PolicyState, policyEvents, policyState } from "./policy-events.policy.ts";
import { type PolicyActivity, type PolicyNodes, statusChange } from "./policy-status.policy.ts";
import type { RemediationProblem } from "./remediations/remediation-object.policy.ts";
import type { ResolvedPolicy } from "./resolved-policies.policy.ts";

/** How often statuses are compared with what they should be, in milliseconds. */
const REVIEW_MS = 5_000;
/** How long what was published about limits counts: some repetitions, in milliseconds. */
const LIMITS_KNOWN_MS = 30_000;

/** What the owner of the limits published last about a policy. */
interface ReceivedLimits {
  readonly body: BodyOf<"judged.limits">;
  readonly receivedMs: number;
}

/** What other parts of the policy service know about policies. */
interface PolicyProblems {
  /** Why the remediations of a policy do not work; null where they do, undefined for a policy without any. */
  readonly remediations: (policy: string) => RemediationProblem | null | undefined;
  /** A sentence for each memory that cannot be written. */
  readonly memory: () => readonly string[];
}

/** The statuses that one active policy service writes. */
export class PolicyStatuses {
  readonly #io: Io;
  readonly #problems: PolicyProblems;
  #stops: readonly Stop[] = [];
  readonly #limits = new Map<string, ReceivedLimits>();
  readonly #resolutions = new Map<string, { readonly node: ObservedNode; readonly resolved: PolicyOfNode }>();
  readonly #writing = new Set<string>();
  readonly #recorder: EventRecorder;
  /** What each object has said last. */
  #states: ReadonlyMap<string, PolicyState> = new Map();
  #limitsAwaitedUntilMs = 0;
  #feeds: readonly ShardFeed[] = [];
  #resolved: readonly ResolvedPolicy[] = [];
  #resources: ReadonlyMap<string, PolicyResource> = new Map();
  #problem = "";
  #timer: Timer;

  constructor(io: Io, problems: PolicyProblems) {
    this.#io = io;
    this.#problems = problems;
    this.#recorder = new EventRecorder(io);
    this.#timer = io.clock.after(REVIEW_MS, () => this.#review());
  }

  stop(): void {
    this.#timer.cancel();
    this.#recorder.stop();
    for (const stop of this.#stops) stop();
    for (const feed of this.#feeds) feed.stop();
  }

  /** Applies the policies and the objects that they came from. */
  update(resolved: readonly ResolvedPolicy[], resources: ReadonlyMap<string, PolicyResource>): void {
    this.#resolved = resolved;
    this.#resources = resources;
    if (resources.size > 0 && this.#feeds.length === 0) this.#follow();
  }

  #recordEvents(): void {
    const states = [...this.#resources.values()].map((resource): [string, PolicyState] => {
      const before = this.#states.get(resource.name) ?? null;
      const after = policyState(resource, before);
      const events = before === null ? [] : policyEvents(resource.name, before, after);
      for (const event of events) this.#recorder.record(event);
      return [resource.name, after];
    });
    this.#states = new Map(states);
  }

  #follow(): void {
    const { bus, clock, policies } = this.#io;
    this.#limitsAwaitedUntilMs = clock.monotonicMs() + LIMITS_KNOWN_MS;
    this.#stops = [
      policies.follow(() => {
        for (const { node } of this.#resolutions.values()) this.#resolve(node);
      }),
      bus.subscribe("judged.limits", 0, ({ body }) => {
        this.#limits.set(body.policy, { body, receivedMs: clock.monotonicMs() });
      }),
    ];
    this.#feeds = Array.from({ length: SHARD_COUNT }, (_, shard) => this.#feed(shard));
  }

  #feed(shard: number): ShardFeed {
    return feedShard(this.#io, shard, {
      needs: ["nodes"],
      reader: {
        node: (node) => this.#resolve(node),
        gone: ({ node }) => this.#resolutions.delete(node),
      },
    });
  }

  #resolve(node: ObservedNode): void {
    const resolved = policyOf(node, this.#io.policies.current());
    this.#resolutions.set(node.node, { node, resolved });
  }

  #review(): void {
    const { clock } = this.#io;
    this.#timer = clock.after(REVIEW_MS, () => this.#review());
    this.#recordEvents();
    // A status says that nothing freezes its nodes only where the policies are known.
    if (this.#io.policies.current() === null) return;
    if (this.#feeds.some(({ view }) => view.blindness(clock.monotonicMs()) !== null)) return;
    const counts = this.#counts();
    for (const policy of this.#resolved) {
      const resource = policy.source === "resource" ? this.#resources.get(policy.name) : undefined;
      if (resource === undefined || this.#writing.has(policy.name)) continue;
      const found = policy.spec === null ? NOTHING : this.#found(policy, counts.get(policy.name) ?? NO_NODES);
      const status = statusChange(resource, policy, found, clock.wallMs());
      if (status !== null) this.#write(resource, status);
    }
  }

  #found(policy: ResolvedPolicy, numbers: PolicyNodes): PolicyNodes & PolicyActivity {
    const { remediations, memory } = this.#problems;
    return { ...numbers, ...this.#activityOf(policy), remediations: remediations(policy.name), unwritten: memory() };
  }

  #activityOf({ name, spec }: ResolvedPolicy): PolicyActivity {
    const { clock, policies } = this.#io;
    const known = this.#limitsOf(name);
    const set = policies.current();
    const policy = set?.policies.find((each) => each.name === name);
    const freeze = set === null || policy === undefined ? null : freezeReport([policy], set.everywhere, clock.wallMs());
    const isAwaited = policy !== undefined && hasLimits(policy) && clock.monotonicMs() < this.#limitsAwaitedUntilMs;
    const limits = known ?? (isAwaited ? "awaited" : null);
    const together = policy !== undefined && evictsForConditions(policy) ? this.#limitsOf(POLICY_CEILING) : null;
    const ceiling = together?.holds.find(({ field }) => field === CEILING_FLAG) ?? null;
    return { limits, hasBreaker: spec?.circuitBreaker !== undefined, ceiling, freeze };
  }

  /** What was published lately about the limits of a policy, or of all together. */
  #limitsOf(name: string): ReceivedLimits["body"] | null {
    const received = this.#limits.get(name);
    if (received !== undefined && this.#io.clock.monotonicMs() - received.receivedMs < LIMITS_KNOWN_MS)
      return received.body;
    this.#limits.delete(name);
    return null;
  }

  #counts(): ReadonlyMap<string, PolicyNodes> {
    const counts = new Map<string, PolicyNodes>();
    for (const { node, resolved } of this.#resolutions.values()) {
      if (resolved.kind === "policy") {
        const { nodes, unhealthy, conflict } = counts.get(resolved.policy.name) ?? NO_NODES;
        const isUnhealthy = readyConditionOf(node)?.status !== "True";
        const more = { nodes: nodes + 1, unhealthy: unhealthy + (isUnhealthy ? 1 : 0), conflict };
        counts.set(resolved.policy.name, more);
      }
      if (resolved.kind !== "conflict") continue;
      for (const name of resolved.names) {
        const found = counts.get(name) ?? NO_NODES;
        const others = resolved.names.filter((other) => other !== name);
        const conflict = { node: node.node, others, ...found.conflict, count: (found.conflict?.count ?? 0) + 1 };
        counts.set(name, { ...found, conflict });
      }
    }
    return counts;
  }

  #write({ name, resourceVersion }: PolicyResource, status: Readonly<Record<string, unknown>>): void {
    this.#writing.add(name);
    const ref = { kind: "NodePolicy", namespace: "", name } as const;
    const body = { metadata: { resourceVersion }, status };
    this.#io.kube.write(
      { verb: "patch", patch: "merge", ref, subresource: "status", urgency: Urgency.event, body },
      (reply) => this.#written(name, reply),
    );
  }

  #written(name: string, reply: WriteReply): void {
    this.#writing.delete(name);
    if (reply.outcome !== "denied" || reply.detail === this.#problem) return;
    this.#problem = reply.detail;
    this.#io.log.warn(`the status of NodePolicy ${name} cannot be written: ${reply.detail}`);
  }
}

const NO_NODES: PolicyNodes = { nodes: 0, unhealthy: 0, conflict: null };
/** What is found for an object that is not in force: a policy of --config with its name may be. */
const NOTHING: PolicyNodes & PolicyActivity = {
  ...NO_NODES,
  limits: null,
  hasBreaker: false,
  ceiling: null,
  freeze: null,
};
