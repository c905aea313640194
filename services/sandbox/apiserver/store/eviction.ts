/** Evictions: deletions of pods that disruption budgets may refuse. controllers/ counts what a budget allows. */
import { apiTime } from "../../../domain/api-time.ts";
import { selects } from "../../../domain/node-policy.ts";
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
  if (!mayIgnoreBudgets(pod)) {
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

/** A pod that does not run yet, has ended or terminates already counts in no budget. */
function mayIgnoreBudgets(pod: ApiObject): boolean {
  const phase = textOf(childObject(pod, "status"), "phase");
  return ["Succeeded", "Failed", "Pending"].includes(phase) || pod.metadata.deletionTimestamp !== undefined;
}

/** Takes one disruption from a budget, unless the pod is not ready and the others are enough. Throws a 429. */
function spend(registry: Registry, budget: ApiObject, pod: ApiObject, wallMs: number): void {
  const { name, namespace = "", generation = 0 } = budget.metadata;
  const status = childObject(budget, "status");
  if (!isReady(pod) && isUnneeded(budget)) return;
  if (Number(status.observedGeneration ?? 0) < generation) {
    throw refused(`The disruption budget ${name} is still being processed by the server.`);
  }
  const allowed = Number(status.disruptionsAllowed ?? 0);
  if (allowed < 0) throw forbidden(BUDGETS, name, "pdb disruptions allowed is negative");
  if (allowed === 0) {
    const [needed, healthy] = [Number(status.desiredHealthy ?? 0), Number(status.currentHealthy ?? 0)];
    throw refused(`The disruption budget ${name} needs ${needed} healthy pods and has ${healthy} currently`);
  }
  const disruptedPods = { ...childObject(status, "disruptedPods"), [pod.metadata.name]: apiTime(wallMs) };
  const spent = { ...status, disruptionsAllowed: allowed - 1, disruptedPods };
  const place = { resource: BUDGETS, namespace, name };
  registry.update(place, "status", (before) => ({ ...before, status: spent }));
}

/** Whether a pod that is not ready may go: always by the budget's policy, or because enough others are healthy. */
function isUnneeded(budget: ApiObject): boolean {
  if (childObject(budget, "spec").unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = childObject(budget, "status");
  return Number(desiredHealthy) > 0 && Number(currentHealthy) >= Number(desiredHealthy);
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
