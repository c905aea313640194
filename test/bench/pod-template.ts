/**
 * Millions of pods: one running pod as the embedded API stores it, copied as text under other names. Creating each one
 * through the registry would take longer than the measurement.
 */

import { apiTime } from "../../services/domain/api-time.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import type { ApiObject } from "../../services/sandbox/apiserver/api-objects.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { storedAs } from "../../services/sandbox/apiserver/resources.ts";
import { Stored } from "../../services/sandbox/apiserver/store/stored.ts";
import { hollowPod } from "../../services/sandbox/hollow/hollow-pods.ts";
import type { ClusterSize } from "./load.ts";

const NAMESPACE = "default";
const NODE = "name-of-node";
const HEX = 16;
const UID_DIGITS = 12;

/** Every pod of a cluster, ready and running on its node; `nextRevision` is called once for each. */
export function* podsOf({ nodes, podsPerNode }: ClusterSize, nextRevision: () => number): Generator<Stored> {
  const template = templatePod();
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

/** The same pods as etcd holds them: by key, as JSON. */
export function* podsInEtcd(size: ClusterSize): Generator<[key: string, json: string]> {
  for (const { name, json } of podsOf(size, () => 1)) yield [`pods/${NAMESPACE}/${name}`, json];
}

function templatePod(): Stored {
  const { registry } = new ApiServer({ clock: realClock(), random: systemRandom });
  const resource = storedAs("pods");
  const { ref, body } = hollowPod(NODE, 0);
  registry.create(resource, NAMESPACE, body as ApiObject);
  const startTime = apiTime(Date.now());
  const conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: startTime,
  }));
  const status = { phase: "Running", startTime, conditions, qosClass: "BestEffort" };
  return registry.update({ resource, namespace: NAMESPACE, name: ref.name }, "status", (pod) => ({ ...pod, status }));
}
