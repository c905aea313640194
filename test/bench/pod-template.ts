/**
 * Up to millions of pods: one running pod as the embedded API stores it, copied as text under other names. Creating
 * each one through the registry would last longer than the measurement.
 */

import { apiTime } from "../../services/domain/api-time.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { type ApiObject, isObject, type JsonObject } from "../../services/sandbox/apiserver/api-objects.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { storedAs } from "../../services/sandbox/apiserver/resources.ts";
import { Stored } from "../../services/sandbox/apiserver/store/stored.ts";
import { hollowPod } from "../../services/sandbox/hollow/hollow-pods.ts";
import type { ClusterSize } from "./load.ts";
import { managedFieldsOf, typicalContainerStatuses, typicalPodMetadata, typicalPodSpec } from "./typical-objects.ts";

const NAMESPACE = "default";
const NODE = "name-of-node";
const HEX = 16;
const UID_DIGITS = 12;

/** More pods than this, 10 KiB each, do not fit into the memory of the embedded API: they are the least it accepts. */
const TYPICAL_PODS_MAX = 100_000;

/**
 * Every pod of a cluster, ready and running on its node, of typical size where they are at most TYPICAL_PODS_MAX;
 * `nextRevision` is called once for each.
 */
export function* podsOf({ nodes, podsPerNode }: ClusterSize, nextRevision: () => number): Generator<Stored> {
  const template = nodes * podsPerNode > TYPICAL_PODS_MAX ? leastPod() : typicalPod();
  for (let index = 0; index < nodes * podsPerNode; index++) {
    const node = `n-${Math.floor(index / podsPerNode)}`;
    const name = hollowPod(node, index % podsPerNode).ref.name;
    const uid = `${template.uid.slice(0, -UID_DIGITS)}${index.toString(HEX).padStart(UID_DIGITS, "0")}`;
    const revision = nextRevision();
    const json = template.json
      .replace(`"${template.name}"`, `"${name}"`)
      .replace(`"${NODE}"`, `"${node}"`)
      .replace(template.uid, uid)
      .replace(`"resourceVersion":"${template.revision}"`, `"resourceVersion":"${revision}"`);
    // A replaced text is a chain of pieces. Through a buffer it becomes one string, with a third of the memory.
    const flat = Buffer.from(json, "latin1").toString("latin1");
    const { namespace, phase } = template;
    yield new Stored({ namespace, name, uid, revision, json: flat, node, phase, terminating: false });
  }
}

/** The same pods as etcd stores them: by key, as JSON. */
export function* podsInEtcd(size: ClusterSize): Generator<[key: string, json: string]> {
  for (const { name, json } of podsOf(size, () => 1)) yield [`pods/${NAMESPACE}/${name}`, json];
}

/** A pod with nothing but what the API server demands and what a kubelet's ready pod shows. */
function leastPod(): Stored {
  return runningPod({ metadata: {}, spec: {}, status: {} });
}

function typicalPod(): Stored {
  const addresses = { hostIP: "10.0.0.1", podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }] };
  const status = { ...addresses, containerStatuses: typicalContainerStatuses(apiTime(Date.now())) };
  const stored = runningPod({ metadata: typicalPodMetadata(), spec: typicalPodSpec(), status });
  const pod = stored.object();
  pod.metadata.managedFields = managedFieldsOf(pod);
  const { namespace, name, uid, revision, node, phase, terminating } = stored;
  return new Stored({ namespace, name, uid, revision, node, phase, terminating, json: JSON.stringify(pod) });
}

/** A hollow node's pod that runs, with these fields beside its own. */
function runningPod(beside: Readonly<Record<"metadata" | "spec" | "status", JsonObject>>): Stored {
  const { registry } = new ApiServer({ clock: realClock(), random: systemRandom });
  const resource = storedAs("pods");
  const { ref, body } = hollowPod(NODE, 0);
  const { metadata, spec = null, ...kind } = body as ApiObject;
  const wholeSpec = { ...(isObject(spec) ? spec : {}), ...beside.spec };
  registry.create(resource, NAMESPACE, { ...kind, metadata: { ...metadata, ...beside.metadata }, spec: wholeSpec });
  const startTime = apiTime(Date.now());
  const conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: startTime,
  }));
  const status = { phase: "Running", startTime, conditions, qosClass: "BestEffort", ...beside.status };
  return registry.update({ resource, namespace: NAMESPACE, name: ref.name }, "status", (pod) => ({ ...pod, status }));
}
