/**
 * Counts what each PodDisruptionBudget allows: healthy pods now, and how many of them it needs. Example: with
 * `maxUnavailable: 25%` of 10 pods, 3 may be disrupted, so 7 must stay healthy; while 9 are healthy it allows 2.
 */
import { apiTime, epochMsOf } from "../../domain/api-time.ts";
import { selects } from "../../domain/node-policy.ts";
import { type ApiObject, childObject, type Json, textOf } from "../apiserver/api-objects.ts";
import { isReady } from "../apiserver/store/eviction.ts";
import { labelsOf, selectorIn } from "../apiserver/store/label-selector.ts";
import { type Cluster, keyOf } from "./cluster.ts";
import { controllerOf } from "./owners.ts";
import { WorkQueue } from "./work-queue.ts";

/** How long an evicted pod counts as disrupted while its deletion is not observed, as upstream. */
const DISRUPTION_MS = 120_000;

/** Follows the budgets of a cluster and the pods that they protect. */
export function startDisruptionBudgets(cluster: Cluster): void {
  const queue = new WorkQueue(cluster.clock, (key) => {
    const budget = cluster.object("poddisruptionbudgets", key);
    if (budget !== null) count(cluster, budget);
  });
  cluster.follow("poddisruptionbudgets", ({ now }) => queue.add(keyOf(now)));
  cluster.follow("pods", ({ now }) => {
    const budgets = cluster.collection("poddisruptionbudgets");
    if (budgets.size > 0) for (const budget of budgets.sorted(now.namespace)) queue.add(keyOf(budget));
  });
}

function count(cluster: Cluster, budget: ApiObject): void {
  const spec = childObject(budget, "spec");
  const selector = selectorIn(spec.selector);
  const pods = cluster.objectsWith("pods", budget.metadata.namespace ?? "", "").filter(hasNotEnded);
  const selected = pods.filter((pod) => selects(selector, labelsOf(pod)));
  const nowMs = cluster.clock.wallMs();
  const disruptedPods = stillDisrupted(childObject(budget, "status").disruptedPods, selected, nowMs);
  const healthy = selected.filter(
    (pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined && !(pod.metadata.name in disruptedPods),
  ).length;
  const expected = expectedPods(cluster, selected);
  const desired =
    spec.maxUnavailable === undefined
      ? amountOf(spec.minAvailable ?? 0, expected)
      : Math.max(0, expected - amountOf(spec.maxUnavailable, expected));
  cluster.report("poddisruptionbudgets", budget, {
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    currentHealthy: healthy,
    desiredHealthy: desired,
    disruptionsAllowed: expected === 0 ? 0 : Math.max(0, healthy - desired),
    expectedPods: expected,
    observedGeneration: budget.metadata.generation ?? 0,
  });
}

/** The evicted pods whose deletion has not been observed yet. */
function stillDisrupted(known: Json | undefined, pods: readonly ApiObject[], nowMs: number): Record<string, string> {
  const entries = Object.entries((known ?? {}) as Record<string, string>);
  const alive = entries.filter(([name, at]) => {
    const pod = pods.find(({ metadata }) => metadata.name === name);
    const isLate = nowMs - (epochMsOf(at) ?? 0) >= DISRUPTION_MS;
    return pod !== undefined && pod.metadata.deletionTimestamp === undefined && !isLate;
  });
  return Object.fromEntries(alive.map(([name, at]) => [name, apiTime(epochMsOf(at) ?? nowMs)]));
}

function hasNotEnded(pod: ApiObject): boolean {
  return !["Succeeded", "Failed"].includes(textOf(childObject(pod, "status"), "phase"));
}

/** How many pods there should be: the replicas of their ReplicaSets, and each pod without one. */
function expectedPods(cluster: Cluster, pods: readonly ApiObject[]): number {
  const sets = new Map<string, number>();
  let alone = 0;
  for (const pod of pods) {
    const owner = controllerOf(pod);
    const key = `${pod.metadata.namespace ?? ""}/${textOf(owner ?? {}, "name")}`;
    const set = owner?.kind === "ReplicaSet" ? cluster.object("replicasets", key) : null;
    if (set === null) alone += 1;
    else sets.set(key, Number(childObject(set, "spec").replicas ?? 0));
  }
  return [...sets.values()].reduce((sum, replicas) => sum + replicas, alone);
}

/** A number, or a percentage of all, rounded up as upstream does. */
function amountOf(amount: Json, all: number): number {
  if (typeof amount === "number") return amount;
  return typeof amount === "string" ? Math.ceil((Number.parseInt(amount, 10) * all) / 100) : 0;
}
