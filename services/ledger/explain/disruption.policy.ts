/** The condition DisruptionTarget of a pod names the component that ends it, which need not be Vigil. */
import { listOf, recordOf, textOf } from "../../structures/json.ts";

/** The component that sets each reason, in the words of an explanation. */
const WHO: ReadonlyMap<string, string> = new Map([
  ["DeletionByDeviceTaintManager", "the device taint manager, because of a taint of a device that it uses"],
  ["DeletionByPodGC", "the pod garbage collector, because its node no longer exists or is out of service"],
  ["DeletionByTaintManager", "a taint manager, Vigil's or upstream's, because of a NoExecute taint of its node"],
  ["EvictionByEvictionAPI", "a client of the Eviction API, as kubectl drain is"],
  ["PreemptionByScheduler", "the scheduler, which made room for a pod of a higher priority"],
  ["TerminationByKubelet", "its kubelet, under the pressure of its node or in a graceful shutdown"],
]);

/** The component that ends a pod, by its condition. */
export interface Disruption {
  readonly reason: string;
  readonly who: string;
}

/** The disruption that the status of a pod names; null for none. */
export function disruptionOf(status: unknown): Disruption | null {
  const conditions = listOf(recordOf(status).conditions).map(recordOf);
  const mark = conditions.find(({ type, status: value }) => type === "DisruptionTarget" && value === "True");
  const reason = textOf(mark?.reason);
  if (reason === null) return null;
  return { reason, who: WHO.get(reason) ?? "a component that is not known" };
}
