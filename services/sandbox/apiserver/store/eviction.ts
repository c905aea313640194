/** Evictions: deletions of pods that disruption budgets may refuse. controllers/ counts what a budget allows. */
import type { KubeObject } from "../../../../protocols/ports.ts";
import { apiTime } from "../../../domain/api-time.ts";
import { selects } from "../../../domain/node-policy.ts";
import { recordOf } from "../../../structures/json.ts";
import { type ApiObject, childList, childObject, isObject, textOf } from "../api-objects.ts";
import { ApiFailure, forbidden } from "../api-status.ts";
import { type Place, storedAs } from "../resources.ts";
import type { DeleteOptions } from "./deletion.ts";
import { labelsOf, selectorIn } from "./label-selector.ts";
import type { Registry } from "./registry.ts";
import type { Store } from "./store.ts";

/** What an eviction needs. */
export interface EvictionParts {
  readonly store: Store;
  readonly registry: Registry;
  readonly wallMs: number;
}

const BUDGETS = storedAs("poddisruptionbudgets");

/** Deletes a pod, unless the budget that selects it allows no disruption. Throws a 429. */
export function evictPod({ store, registry, wallMs }: EvictionParts, place: Place, options: DeleteOptions): void {
  const pod = registry.find(place).object();
  const writes = options.dryRun ? registry.dry() : registry;
  const phase = textOf(childObject(pod, "status"), "phase");
  if (countsInBudgets(phase, pod.metadata.deletionTimestamp !== undefined)) {
    const budgets = budgetsOf(store, pod);
    if (budgets.length > 1) throw severalBudgets();
    for (const budget of budgets) spend(writes, budget, pod, wallMs);
  }
  writes.delete(place, options);
}

function budgetsOf(store: Store, pod: ApiObject): ApiObject[] {
  const collection = store.collection(BUDGETS.storage);
  if (collection.size === 0) return [];
  return collection
    .sorted(pod.metadata.namespace ?? "")
    .map((stored) => stored.object())
    .filter((budget) => selects(selectorIn(childObject(budget, "spec").selector), labelsOf(pod)));
}

/** Whether budgets count a pod: not one that does not run yet, has ended or terminates already. */
export function countsInBudgets(phase: string, isTerminating: boolean): boolean {
  return !isTerminating && !["Succeeded", "Failed", "Pending"].includes(phase);
}

/** A budget by what its controller has counted. */
export interface CountedBudget {
  readonly healthy: number;
  readonly needed: number;
  /** How many of the healthy pods may go. */
  readonly allowed: number;
  /** Whether these are the counts of an earlier spec. */
  readonly isOutdated: boolean;
  /** Whether it protects no pod that is not ready. */
  readonly freesUnready: boolean;
}

/** The counts of a budget as it is stored. */
export function countedBudget({ metadata, spec, status }: KubeObject): CountedBudget {
  const counted = recordOf(status);
  return {
    healthy: Number(counted.currentHealthy ?? 0),
    needed: Number(counted.desiredHealthy ?? 0),
    allowed: Number(counted.disruptionsAllowed ?? 0),
    isOutdated: Number(counted.observedGeneration ?? 0) < Number(metadata.generation ?? 0),
    freesUnready: recordOf(spec).unhealthyPodEvictionPolicy === "AlwaysAllow",
  };
}

/**
 * What a budget answers to an eviction: `free` where the pod is not ready and uses none of its disruptions. Example: 3 of
 * 4 pods are healthy and 3 are desired, so the fourth may be evicted although no disruption is allowed.
 */
export function answerOf(budget: CountedBudget, isReady: boolean): "free" | "spends" | "refuses" {
  const { healthy, needed, allowed, isOutdated, freesUnready } = budget;
  if (!isReady && (freesUnready || (needed > 0 && healthy >= needed))) return "free";
  return isOutdated || allowed <= 0 ? "refuses" : "spends";
}

/** Takes one disruption from a budget where the pod needs one. Throws a 429. */
function spend(registry: Registry, budget: ApiObject, pod: ApiObject, wallMs: number): void {
  const { name, namespace = "" } = budget.metadata;
  const counted = countedBudget(budget);
  const answer = answerOf(counted, isReady(pod));
  if (answer === "free") return;
  if (answer === "refuses") throw refusalOf(name, counted);
  const status = childObject(budget, "status");
  const disruptedPods = { ...childObject(status, "disruptedPods"), [pod.metadata.name]: apiTime(wallMs) };
  const spent = { ...status, disruptionsAllowed: counted.allowed - 1, disruptedPods };
  const place = { resource: BUDGETS, namespace, name };
  registry.update(place, "status", (before) => ({ ...before, status: spent }));
}

function refusalOf(name: string, { isOutdated, allowed, needed, healthy }: CountedBudget): ApiFailure {
  if (isOutdated) return refused(`The disruption budget ${name} is still being processed by the server.`);
  if (allowed < 0) return forbidden(BUDGETS, name, "pdb disruptions allowed is negative");
  return refused(`The disruption budget ${name} needs ${needed} healthy pods and has ${healthy} currently`);
}

/** Whether the Ready condition of a pod or a node is True. */
export function isReady({ status }: ApiObject): boolean {
  const conditions = isObject(status) ? childList(status, "conditions") : [];
  return conditions.some((one) => one.type === "Ready" && one.status === "True");
}

function refused(message: string): ApiFailure {
  const details = { causes: [{ reason: "DisruptionBudget", message }] };
  const summary = "Cannot evict pod as it would violate the pod's disruption budget.";
  return new ApiFailure({ code: 429, reason: "TooManyRequests", message: summary, details });
}

function severalBudgets(): ApiFailure {
  const message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
  return new ApiFailure({ code: 500, reason: "", message });
}
