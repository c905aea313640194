/**
 * The concerns of one node, and the one way in to them. The core keeps an object of this class for a node that a policy
 * selects, may select, or has left records on; for any other node it keeps null, and nothing here runs.
 */
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { PolicyOfNode, PolicySet } from "../../../protocols/policy-set.ts";
import type { Io } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { type Concern, type Findings, type NodeView, type PolicyView, together } from "./concern.ts";
import { type ConditionObservations, NO_OBSERVATIONS, withObservations } from "./conditions/condition-observations.ts";
import { NO_RULES, typesOf } from "./conditions/condition-taints.policy.ts";
import { Conditions } from "./conditions/conditions.ts";
import { EvictionDelay } from "./eviction-delay/eviction-delay.ts";
import { maintenanceTypes } from "./maintenance/maintenance.policy.ts";
import { MaintenanceWindows } from "./maintenance/maintenance.ts";
import { OutOfService, type OutOfServiceContext } from "./out-of-service/out-of-service.ts";
import { outagesOf } from "./pause.ts";
import { ReadinessBreaker } from "./readiness/readiness-breaker.ts";
import { Selection } from "./selection/selection.ts";
import { TaintDelays } from "./taint-delay/taint-delay.ts";

/** The ports that concerns use. */
export type ConcernsIo = Pick<Io, "bus" | "clock" | "log" | "policies" | "profile">;

/** What the concerns of all nodes of one process share. */
export interface ConcernsContext extends OutOfServiceContext {
  readonly io: ConcernsIo;
}

/** The concerns of one node. */
export class NodeConcerns {
  readonly #io: ConcernsIo;
  readonly #selection: Selection;
  readonly #concerns: readonly Concern[];
  #observations: ConditionObservations = NO_OBSERVATIONS;

  /** `policy` is null for a node that had none before, and undefined where its policy has never been known. */
  constructor(context: ConcernsContext, policy: null | undefined) {
    const { io, beganMs, limits } = context;
    this.#io = io;
    this.#selection = new Selection(policy);
    // Beside upstream Vigil sets no taint for a condition, and blocks no eviction.
    const isBeside = io.profile.upstream === "beside";
    this.#concerns = [
      new TaintDelays(io.clock, beganMs),
      new EvictionDelay(io),
      ...(isBeside ? [] : [new Conditions(io), new MaintenanceWindows(io)]),
      new OutOfService(context),
      new ReadinessBreaker(limits),
    ];
  }

  /** Applies the policies in force. */
  resolve(resolved: PolicyOfNode, set: PolicySet | null): void {
    this.#selection.resolve(resolved, set);
  }

  /** Whether it is known by which policy to judge. */
  get isKnown(): boolean {
    return this.#selection.isKnown;
  }

  /** How long the node may be silent. */
  get graces(): Pick<Profile, "nodeMonitorGraceMs" | "nodeStartupGraceMs"> {
    return this.#selection.graces(this.#io.profile);
  }

  /** The key of the disruption domain that a node belongs to. */
  domainOf(node: Pick<ObservedNode, "labels">): string {
    return this.#selection.domainOf(node);
  }

  review(seen: NodeView): Findings {
    const { policy, selecting, isKnown } = this.#selection;
    if (isKnown) this.#observations = this.#observationsOf(seen);
    const view: PolicyView = {
      ...seen,
      zone: this.domainOf(seen.node),
      policy,
      selecting,
      isKnown,
      observations: this.#observations,
      outages: outagesOf(this.#io, seen.node, seen.outages),
    };
    const findings = this.#concerns.map((concern) => concern.review(view));
    return together([{ judged: this.#selection.judged }, ...findings]);
  }

  #observationsOf({ node, isSynced, at }: NodeView): ConditionObservations {
    const { policy, selecting, isConflict } = this.#selection;
    const maintenances = selecting.flatMap(({ maintenance }) => maintenance ?? []);
    const rules = isConflict ? NO_RULES : (policy ?? NO_RULES);
    const types = [...new Set([...typesOf(rules), ...maintenanceTypes(maintenances)])];
    return withObservations(this.#observations, node, types, { ...at, isUnbroken: isSynced });
  }
}
