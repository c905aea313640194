/** Binds each unbound pod to a ready node with taints that it tolerates: the one with the fewest pods. */
import type { Taint, Toleration } from "../../../protocols/objects.ts";
import { tolerates } from "../../domain/toleration.ts";
import { type ApiObject, childList, childObject, type JsonObject } from "../apiserver/api-objects.ts";
import { storedAs } from "../apiserver/resources.ts";
import { bindPod } from "../apiserver/store/binding.ts";
import { isReady } from "../apiserver/store/eviction.ts";
import { type Cluster, keyOf } from "./cluster.ts";
import { WorkQueue } from "./work-queue.ts";

const PODS = storedAs("pods");

/** Follows the pods and nodes of a cluster. */
export function startScheduler(cluster: Cluster): void {
  const unbound = new Set<string>();
  const queue = new WorkQueue(cluster.clock, (key) => {
    const pod = cluster.object("pods", key);
    const isOver = pod === null || pod.metadata.deletionTimestamp !== undefined;
    if (isOver || childObject(pod, "spec").nodeName !== undefined || schedule(cluster, pod)) unbound.delete(key);
  });
  cluster.follow("pods", ({ type, now }) => {
    const key = keyOf(now);
    if (type === "DELETED" || now.node !== "" || now.terminating) unbound.delete(key);
    else {
      unbound.add(key);
      queue.add(key);
    }
  });
  cluster.follow("nodes", () => {
    for (const key of unbound) queue.add(key);
  });
}

/** Binds a pod if a node fits; returns whether one did. */
function schedule(cluster: Cluster, pod: ApiObject): boolean {
  const nodes = cluster.collection("nodes").sorted("");
  const fitting = nodes.map((stored) => stored.object()).filter((node) => fits(pod, node));
  const load = ({ metadata }: ApiObject): number => cluster.collection("pods").onNode(metadata.name).length;
  const [best] = fitting.sort((left, right) => load(left) - load(right));
  if (best === undefined) return false;
  const place = { resource: PODS, namespace: pod.metadata.namespace ?? "", name: pod.metadata.name };
  bindPod(cluster.registry, place, best.metadata.name, cluster.clock.wallMs());
  return true;
}

function fits(pod: ApiObject, node: ApiObject): boolean {
  const spec = childObject(node, "spec");
  const labels = childObject(node.metadata, "labels");
  const wanted = Object.entries(childObject(childObject(pod, "spec"), "nodeSelector"));
  if (!isReady(node) || spec.unschedulable === true || node.metadata.deletionTimestamp !== undefined) return false;
  if (!wanted.every(([label, value]) => labels[label] === value)) return false;
  const tolerations = childList(childObject(pod, "spec"), "tolerations").map(tolerationOf);
  return childList(spec, "taints")
    .filter(({ effect }) => effect !== "PreferNoSchedule")
    .every((taint) => tolerations.some((toleration) => tolerates(toleration, taintOf(taint), RULES)));
}

const RULES = { comparisonOperators: false };

function taintOf({ key, value, effect }: JsonObject): Taint {
  return { key, value: value ?? "", effect } as Taint;
}

function tolerationOf(toleration: JsonObject): Toleration {
  return toleration as Toleration;
}
