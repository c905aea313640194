/** What policies add to the node service of one process: which nodes have concerns, and when these are reviewed. */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Stop } from "../../../protocols/ports.ts";
import { readinessBreakersOf } from "../../domain/limited-policies.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { LimitBlocks, LimitReceiver } from "../../platform/node-policies/limit-blocks.ts";
import { type ConcernsContext, type ConcernsIo, NodeConcerns } from "./node-concerns.ts";
import { PolicyConflicts } from "./selection/policy-conflicts.ts";

/** What the concerns need from the service. */
export interface ServiceConcernsOptions {
  /** When the service started, on the monotonic clock. */
  readonly beganMs: number;
  readonly isHalted: (zone: string) => boolean;
}

/** The concerns of the nodes of one process. */
export class ServiceConcerns {
  readonly #context: ConcernsContext;
  readonly #conflicts: PolicyConflicts;
  /** Whether a breaker of the whole cluster may block the marking of any node's pods. */
  readonly #hasReadinessBreaker: boolean;

  constructor(io: ConcernsIo, options: ServiceConcernsOptions) {
    this.#context = { ...options, io, limits: new LimitBlocks(io.profile) };
    this.#conflicts = new PolicyConflicts(io.log, io.policies.current()?.policies);
    this.#hasReadinessBreaker = readinessBreakersOf(null, io.profile).length > 0;
  }

  /**
   * The concerns of a node by the policies in force; null for none. `before` are those it had so far, and undefined for
   * a node that is new.
   */
  concernsFor(node: ObservedNode, before: NodeConcerns | null | undefined): NodeConcerns | null {
    const set = this.#context.io.policies.current();
    const resolved = policyOf(node, set);
    if (resolved.kind === "conflict") this.#conflicts.report(resolved.names, node.node);
    if (resolved.kind === "none" && !this.#hasReadinessBreaker && !hasRecords(node)) return null;
    const concerns = before ?? new NodeConcerns(this.#context, before);
    concerns.resolve(resolved, set);
    return concerns;
  }

  /** Calls back when every node, or each that waits for limits, is to be reviewed. */
  follow(reviewAll: (cause: string | null) => void, reviewWaiting: (cause: string) => void): Stop {
    const { io, limits } = this.#context;
    const receiver = new LimitReceiver(io, limits, reviewWaiting);
    const followLimits = (): void => {
      const policies = io.policies.current()?.policies ?? [];
      const waiting = policies.filter(
        ({ outOfService, circuitBreaker }) => outOfService !== null || circuitBreaker?.holdsReadiness === true,
      );
      receiver.follow(waiting, this.#hasReadinessBreaker);
    };
    followLimits();
    const stop = io.policies.follow((cause) => {
      followLimits();
      this.#conflicts.keep(io.policies.current()?.policies ?? []);
      reviewAll(cause);
    });
    return () => {
      receiver.stop();
      stop();
    };
  }
}

/** Whether policies have left records on a node: what they added is removed when they are deleted. */
function hasRecords(node: ObservedNode): boolean {
  const { readyTransitionsAt, conditionSightings, conditionTaints, holds, provedDown, outOfServiceAt } = node;
  const records = [readyTransitionsAt, conditionSightings, conditionTaints, holds, provedDown, outOfServiceAt];
  return records.some((record) => record !== undefined);
}
