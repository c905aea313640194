/** Logs and counts the steps of remediations, and keeps what the API server refused until that may have changed. */
import type { NodePolicy, Remediation } from "../../../protocols/policy-set.ts";
import type { Io, Metrics, WriteReply } from "../../../protocols/ports.ts";
import type { MemoryHealth } from "../../platform/process/memory-health.ts";
import { BoundedMap } from "../../structures/bounded-map.ts";
import type { RemediationAct, RemediationDecision } from "./remediation.policy.ts";
import type { RemediationResult } from "./remediation-acts.ts";
import { type RemediationProblem, remediationKind, remediationsRef } from "./remediation-object.policy.ts";

/** The pause after a refused write, in milliseconds: a user has to grant the right first. */
const REFUSED_MS = 60_000;
/** How many nodes are remembered as logged; one that is forgotten is logged once more. */
const NODES_MAX = 10_000;

const DONE = {
  create: "created",
  dryRun: "dry_run",
  timeOut: "timed_out",
  delete: "deleted",
  prove: "proved",
} as const;
const SENTENCE = {
  create: "remediation created",
  timeOut: "remediation timed out or failed: the next one follows",
  delete: "remediation deleted",
  prove: "remediation succeeded: the node is proved down",
} as const;

/** What a result is about. */
export interface RemediationTarget {
  readonly policy: string;
  readonly node: string;
  readonly kind: RemediationAct["kind"];
  readonly step: Remediation;
  /** What a dry run is about; the same one is not made again. */
  readonly trial?: string;
}

interface Refused {
  readonly problem: RemediationProblem;
  readonly untilMs: number;
}

/** The results of the acts of one active policy service. */
export class RemediationOutcomes {
  readonly #io: Pick<Io, "clock" | "log">;
  readonly #health: MemoryHealth;
  readonly #steps: ReturnType<Metrics["counter"]>;
  readonly #problems: ReturnType<Metrics["counter"]>;
  readonly #refused = new BoundedMap<string, Refused>(NODES_MAX);
  readonly #unsent = new BoundedMap<string, true>(NODES_MAX);
  /** The last dry run of a node that the API server accepted. */
  readonly #accepted = new BoundedMap<string, string>(NODES_MAX);
  readonly #logged = new BoundedMap<string, string>(NODES_MAX);

  constructor({ clock, log, metrics }: Io, health: MemoryHealth) {
    this.#io = { clock, log };
    this.#health = health;
    this.#steps = metrics.counter({
      name: "vigil_remediation_steps_total",
      help: "Remediation objects created, accepted in a dry_run, timed_out and deleted, and successes that proved a node down.",
      labels: ["step"],
    });
    this.#problems = metrics.counter({
      name: "vigil_remediation_problems_total",
      help: "Steps of remediations that the API server refused or that failed, by step.",
      labels: ["step"],
    });
  }

  /** Whether a write for a node was not sent, because this process is in shadow mode. */
  isUnsent(node: string): boolean {
    return this.#unsent.get(node) === true;
  }

  /** Whether the API server has accepted an object as a dry run. */
  isAccepted(node: string, trial: string): boolean {
    return this.#accepted.get(node) === trial;
  }

  /** Why no object can be made from a template at present; null where none was refused lately. */
  problemOf(template: Remediation["template"]): RemediationProblem | null {
    return this.#refused.get(keyOf(template))?.problem ?? null;
  }

  /** Forgets what was refused long ago, so that it is tried again. */
  forget(): void {
    const nowMs = this.#io.clock.monotonicMs();
    for (const [key, { untilMs }] of this.#refused) if (nowMs >= untilMs) this.#refused.delete(key);
  }

  /** Logs how far a node is, if that is news. */
  note(policy: NodePolicy, node: string, { state, index, detail, act }: RemediationDecision): void {
    // Only the API server's answer to a dry run is new.
    if (act?.kind === "dryRun") return;
    const step = index === null ? undefined : policy.remediations[index];
    const kind = step === undefined ? "" : remediationKind(step.template);
    const text = `${policy.name} ${state} ${kind} ${detail ?? ""}`;
    if (this.#logged.get(node) === text) return;
    this.#logged.set(node, text);
    const fields = { policy: policy.name, node, kind, ...(detail === undefined ? {} : { detail }) };
    if (state === "dryRun") this.#io.log.info("remediation would be created", fields);
    else if (state === "exhausted") this.#io.log.warn("every remediation has failed or timed out", fields);
    else if (state === "blocked") this.#io.log.warn("remediation is not possible", fields);
    else this.#io.log.debug(`remediation: ${state}`, fields);
  }

  /** Handles the result of an act. */
  onResult(target: RemediationTarget, result: RemediationResult): void {
    const { policy, node, kind, step } = target;
    const fields = { policy, node, kind: remediationKind(step.template) };
    if (result.kind === "left") {
      this.#io.log.debug("remediation left as it is", { ...fields, detail: result.detail });
      return;
    }
    const { reply } = result;
    // The node keeps the proof. The object is the memory of everything else, and an object that was not created does
    // not exist.
    if (kind === "prove" && !isLate(reply)) this.#health.report("remediations", reply, node);
    if (reply.outcome === "ok") {
      this.#steps.add(1, DONE[kind]);
      this.#refused.delete(keyOf(step.template));
      if (kind === "dryRun") this.#accepted.set(node, target.trial ?? "");
      else this.#io.log.info(SENTENCE[kind], fields);
    } else if (reply.outcome === "shadowed") {
      if (kind === "create" || kind === "dryRun") this.#unsent.set(node, true);
    } else if (!isSettled(kind, reply) && !isLate(reply)) {
      this.#problems.add(1, DONE[kind]);
      const what = kind === "dryRun" ? "would not be created" : `not ${DONE[kind].replace("_", " ")}`;
      this.#io.log.warn(`remediation ${what}`, { ...fields, detail: reply.detail });
      if (reply.outcome === "denied" || reply.outcome === "gone") this.#refuse(target, reply.detail);
    }
  }

  #refuse({ kind, step: { template } }: RemediationTarget, detail: string): void {
    const { plural = "", group = "" } = remediationsRef(template).resource ?? {};
    const verb = { create: "create", dryRun: "create", timeOut: "patch", delete: "delete", prove: "patch nodes for" }[
      kind
    ];
    const message = `the API server refused to ${verb} ${plural}.${group} in ${template.namespace}: ${detail}`;
    const untilMs = this.#io.clock.monotonicMs() + REFUSED_MS;
    this.#refused.set(keyOf(template), { problem: { reason: "Forbidden", message }, untilMs });
  }
}

/** Whether another process or client has done the same meanwhile, or the next round decides again. */
function isSettled(kind: RemediationAct["kind"], { outcome }: WriteReply): boolean {
  if (outcome === "exists" || outcome === "conflict") return true;
  return outcome === "gone" && kind !== "create" && kind !== "dryRun";
}

/** Whether it was not sent, because its reads had become too old: the next round reads again. */
function isLate(reply: WriteReply): boolean {
  return reply.outcome === "failed" && reply.isLate === true;
}

function keyOf({ apiVersion, kind, namespace }: Remediation["template"]): string {
  return `${apiVersion} ${kind} ${namespace}`;
}
