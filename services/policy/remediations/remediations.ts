/**
 * The remediations of the unhealthy nodes of all policies, while this process is the active one of the policy service.
 * Every few seconds it reads the templates and the objects that exist, decides about each node
 * (remediation.policy.ts), does one thing per node (remediation-acts.ts), and publishes how far each is.
 */
import { REMEDIATED_NODES_MAX, type RemediatedNode } from "../../../protocols/judged.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { FrozenInterval, NodePolicy, Remediation } from "../../../protocols/policy-set.ts";
import type { Io, Timer } from "../../../protocols/ports.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { nodeOutagesOf } from "../../domain/paused-time/outages.ts";
import type { MemoryHealth } from "../../platform/process/memory-health.ts";
import { isOrphan, type RemediationDecision, remediationOf } from "./remediation.policy.ts";
import { actOn, deleteOrphan, type RemediationResult } from "./remediation-acts.ts";
import { RemediationBlocks } from "./remediation-blocks.ts";
import { type RemediationProblem, remediationKind } from "./remediation-object.policy.ts";
import { RemediationOutcomes } from "./remediation-outcomes.ts";
import { RemediationReads } from "./remediation-reads.ts";

/** How often the objects are read and the nodes are decided about, in milliseconds. */
const ROUND_MS = 5_000;
/** How often the objects are read while there are none and no node needs one, in milliseconds. */
const IDLE_MS = 60_000;

type Found = { readonly policy: NodePolicy; readonly node: ObservedNode; readonly decision: RemediationDecision };

/** The remediations of one active policy service. */
export class Remediations {
  readonly #io: Io;
  readonly #observedOutages: () => readonly FrozenInterval[];
  readonly #blocks: RemediationBlocks;
  readonly #outcomes: RemediationOutcomes;
  /** The nodes and orphaned objects about which something is under way. */
  readonly #acting = new Set<string>();
  /** The policies of which nodes were published last. */
  readonly #published = new Set<string>();
  #problems: ReadonlyMap<string, RemediationProblem | null> = new Map();
  /** The uid of the object that each policy comes from. */
  #owners: ReadonlyMap<string, string | null> = new Map();
  /** When a node last was not Ready, or a write was under way: reads that began before do not show the result. */
  #unsettledMs = Number.NEGATIVE_INFINITY;
  /** The last reads, if they showed no object, and when they began. */
  #empty: { readonly reads: RemediationReads; readonly startMs: number } | null = null;
  #isStopped = false;
  #timer: Timer;

  /** `observedOutages` are those that the observer has found, remembered or not. */
  constructor(io: Io, health: MemoryHealth, observedOutages: () => readonly FrozenInterval[]) {
    this.#io = io;
    this.#observedOutages = observedOutages;
    this.#blocks = new RemediationBlocks(io);
    this.#outcomes = new RemediationOutcomes(io, health);
    this.#timer = io.clock.after(ROUND_MS, () => this.#round());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer.cancel();
    this.#blocks.stop();
  }

  /** Records the uids of the objects that policies in force come from: they own what is made for them. */
  update(owners: ReadonlyMap<string, string | null>): void {
    this.#owners = owners;
  }

  /** Why the remediations of a policy do not work; null where they do, undefined where nothing is known of any. */
  problemOf(policy: string): RemediationProblem | null | undefined {
    return this.#problems.get(policy);
  }

  #round(): void {
    const { clock, kube } = this.#io;
    this.#timer = clock.after(ROUND_MS, () => this.#round());
    const policies = (this.#io.policies.current()?.policies ?? []).filter(
      ({ remediations }) => remediations.length > 0,
    );
    this.#blocks.follow(policies);
    if (policies.length === 0) {
      this.#problems = new Map();
      this.#publish([]);
      return;
    }
    this.#noteUnsettled();
    const isComplete = policies.every(({ name }) => this.#problems.get(name) === null);
    const reads = new RemediationReads(policies);
    const nowMs = clock.monotonicMs();
    if (isComplete && this.#isKnownEmpty(reads, nowMs)) return;
    reads.start(kube, () => {
      if (!this.#isStopped) this.#review(reads, nowMs);
    });
  }

  /** Notes that an object may be created from now on. */
  #noteUnsettled(): void {
    if (this.#acting.size > 0 || this.#unhealthy().length > 0) this.#unsettledMs = this.#io.clock.monotonicMs();
  }

  /** Whether the last reads showed no object of the same templates, and nothing can have created one since. */
  #isKnownEmpty(reads: RemediationReads, nowMs: number): boolean {
    if (this.#empty === null || !this.#empty.reads.cover(reads)) return false;
    const { startMs } = this.#empty;
    return startMs > this.#unsettledMs && nowMs - startMs < IDLE_MS;
  }

  /** The nodes that are not Ready, of policies with remediations. */
  #unhealthy(): { readonly policy: NodePolicy; readonly node: ObservedNode }[] {
    const set = this.#io.policies.current();
    return this.#blocks.nodes().flatMap((node) => {
      if (readyConditionOf(node)?.status === "True") return [];
      const resolved = policyOf(node, set);
      return resolved.kind === "policy" && resolved.policy.remediations.length > 0
        ? [{ policy: resolved.policy, node }]
        : [];
    });
  }

  #review(reads: RemediationReads, startMs: number): void {
    this.#outcomes.forget();
    const found = this.#unhealthy().flatMap(({ policy, node }): Found[] => {
      const decision = this.#decide(policy, node, reads);
      return decision === null ? [] : [{ policy, node, decision }];
    });
    for (const each of found) {
      this.#outcomes.note(each.policy, each.node.node, each.decision);
      this.#act(each, reads);
    }
    const hasObjects = this.#heal(reads);
    this.#noteUnsettled();
    this.#empty = hasObjects ? null : { reads, startMs };
    const problems = this.#problemsOf(reads, found);
    this.#logProblems(problems);
    this.#problems = problems;
    this.#publish(found);
  }

  #decide(policy: NodePolicy, node: ObservedNode, reads: RemediationReads): RemediationDecision | null {
    const { clock, policies, profile } = this.#io;
    const wallMs = clock.wallMs();
    const steps = policy.remediations;
    const stepReads = steps.map(({ template }) => reads.of(template));
    const { freeze, frozen } = nodeFreezeOf(node, policies.current(), wallMs);
    const outages = nodeOutagesOf(node, policies.current(), this.#observedOutages(), profile);
    const unheard = wallMs < outages.notBeforeAt ? "an outage: the node has to have its grace to be heard" : null;
    return remediationOf({
      node,
      steps,
      objects: stepReads.map(({ objects }) => objects.get(node.node) ?? null),
      unread: stepReads.find(({ objectsProblem }) => objectsProblem !== null)?.objectsProblem?.message ?? null,
      problems: steps.map(
        (step, index) => this.#problemOfStep(step, stepReads[index]?.templateProblem)?.message ?? null,
      ),
      // Beside upstream Vigil changes no node, so nothing would come of a proof.
      outOfService: profile.upstream === "beside" ? null : policy.outOfService,
      startupGraceMs: policy.nodeStartupGraceMs ?? profile.nodeStartupGraceMs,
      frozen,
      outages,
      blockedBy: freeze?.field ?? unheard ?? this.#blocks.blockedBy(node, policy),
      isShadow: this.#outcomes.isUnsent(node.node),
      accepted: steps.map((step) => this.#outcomes.isAccepted(node.node, trialOf(node, step, reads))),
      wallMs,
    });
  }

  #problemOfStep({ template }: Remediation, read: RemediationProblem | null | undefined): RemediationProblem | null {
    return read ?? this.#outcomes.problemOf(template);
  }

  #act({ policy, node, decision: { act } }: Found, reads: RemediationReads): void {
    const step = act === undefined ? undefined : policy.remediations[act.index];
    if (act === undefined || step === undefined || this.#acting.has(node.node)) return;
    const owner = { policy: policy.name, uid: this.#owners.get(policy.name) ?? null };
    const { template } = reads.of(step.template);
    const job = { act, node, policy, step, template, owner, policies: this.#io.policies.current() };
    const trial = trialOf(node, step, reads);
    const target = { policy: policy.name, node: node.node, kind: act.kind, step, trial };
    this.#begin(
      node.node,
      (done) => actOn(this.#io, job, done),
      (result) => this.#outcomes.onResult(target, result),
    );
  }

  /** Deletes the objects of nodes that are Ready or gone, whatever policy they have now; returns whether any exist. */
  #heal(reads: RemediationReads): boolean {
    let hasObjects = false;
    for (const template of reads.templates) {
      const step = { template, timeoutMs: 0, dryRun: false };
      for (const object of reads.of(template).objects.values()) {
        if (!object.isOwn) continue;
        hasObjects = true;
        const { name } = object;
        const node = this.#blocks.node(name);
        const isReady = node !== null && readyConditionOf(node)?.status === "True";
        const isGone = node === null && !this.#blocks.isBlind(name) && isOrphan(object);
        if (object.isEnding || this.#acting.has(name) || (!isReady && !isGone)) continue;
        const of = { policy: "", node: name, kind: "delete" as const, step };
        this.#begin(
          name,
          (done) => {
            if (node === null) deleteOrphan(this.#io, step, object, done);
            else actOn(this.#io, this.#deletion(step, object, node), done);
          },
          (result) => this.#outcomes.onResult(of, result),
        );
      }
    }
    return hasObjects;
  }

  #deletion(step: Remediation, object: Parameters<typeof deleteOrphan>[2], node: ObservedNode) {
    const act = { kind: "delete", index: 0, object } as const;
    const policy = { name: "", nodeMonitorGraceMs: null, outOfService: null };
    return { act, node, policy, step, template: null, owner: { policy: "", uid: null }, policies: null };
  }

  #begin(
    name: string,
    run: (done: (result: RemediationResult) => void) => void,
    ended: (result: RemediationResult) => void,
  ): void {
    this.#acting.add(name);
    run((result) => {
      this.#acting.delete(name);
      if (!this.#isStopped) ended(result);
    });
  }

  #problemsOf(reads: RemediationReads, found: readonly Found[]): ReadonlyMap<string, RemediationProblem | null> {
    const policies = this.#io.policies.current()?.policies ?? [];
    return new Map(
      policies.flatMap((policy): [string, RemediationProblem | null][] => {
        if (policy.remediations.length === 0) return [];
        const stepReads = policy.remediations.map((step) => {
          const { objectsProblem, templateProblem } = reads.of(step.template);
          return objectsProblem ?? this.#problemOfStep(step, templateProblem);
        });
        const exhausted = found.filter(
          (each) => each.policy.name === policy.name && each.decision.state === "exhausted",
        );
        return [[policy.name, stepReads.find((problem) => problem !== null) ?? noneLeft(exhausted, reads)]];
      }),
    );
  }

  /** A policy of --config has no status that could say it. */
  #logProblems(problems: ReadonlyMap<string, RemediationProblem | null>): void {
    for (const [policy, problem] of problems) {
      if (problem === null || problem.message === this.#problems.get(policy)?.message) continue;
      this.#io.log.warn(`NodePolicy ${policy}: its remediations do not work`, { detail: problem.message });
    }
  }

  #publish(found: readonly Found[]): void {
    const byPolicy = Map.groupBy(found, ({ policy }) => policy.name);
    for (const policy of new Set([...this.#published, ...byPolicy.keys()])) {
      const nodes = (byPolicy.get(policy) ?? []).slice(0, REMEDIATED_NODES_MAX).map(publishedNode);
      this.#io.bus.publish("judged.remediations", { policy, nodes }, null);
      if (nodes.length === 0) this.#published.delete(policy);
      else this.#published.add(policy);
    }
  }
}

/** A dry run is made again when the node fails again, or its template changes. */
function trialOf(node: ObservedNode, { template }: Remediation, reads: RemediationReads): string {
  const { resourceVersion } = reads.of(template).template?.metadata ?? {};
  return JSON.stringify([template, resourceVersion, node.uid, readyConditionOf(node)?.transitionAt]);
}

function noneLeft(exhausted: readonly Found[], reads: RemediationReads): RemediationProblem | null {
  const [first] = exhausted;
  if (first === undefined) return null;
  const more = exhausted.length === 1 ? "" : ` and ${exhausted.length - 1} more`;
  const unanswered = first.policy.remediations
    .filter(({ template }) => reads.of(template).objects.get(first.node.node)?.isAnswered === false)
    .map(({ template }) => remediationKind(template));
  const hint =
    unanswered.length === 0
      ? ""
      : `; no controller has reported anything about ${unanswered.join(" and ")}: does it run?`;
  const message = `node ${first.node.node}${more}: every remediation has failed or timed out${hint}`;
  return { reason: "NoneLeft", message };
}

function publishedNode({ policy, node, decision }: Found): RemediatedNode {
  const { state, index, sinceAt, untilAt, detail } = decision;
  const step = index === null ? undefined : policy.remediations[index];
  return {
    node: node.node,
    state,
    ...(step === undefined ? {} : { kind: remediationKind(step.template) }),
    ...(sinceAt === undefined ? {} : { sinceAt }),
    ...(untilAt === undefined ? {} : { untilAt }),
    ...(detail === undefined ? {} : { detail }),
  };
}
