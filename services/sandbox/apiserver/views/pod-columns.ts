/** What kubectl shows of a pod's state: which of its containers' troubles stands for the whole pod. Pure. */
import { type ApiObject, childList, childObject, isObject, type JsonObject, textAt, textOf } from "../api-objects.ts";

/** The cells of a pod that need thought; an empty text is shown as `<none>`. */
export interface PodCells {
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly ip: string;
  readonly readinessGates: string;
}

/** What is shown of a pod. */
export function podCells(pod: ApiObject): PodCells {
  const status = childObject(pod, "status");
  const spec = childObject(pod, "spec");
  const own = textOf(status, "reason") || textOf(status, "phase");
  const containers = childList(status, "containerStatuses");
  const starting = initializing(pod);
  const ready = starting === null ? containers.filter(isRunning).length : 0;
  const counted = starting === null ? containers : childList(status, "initContainerStatuses");
  return {
    ready: `${ready}/${childList(spec, "containers").length}`,
    status: departing(pod) ?? starting ?? running(pod, own, containers),
    restarts: counted.reduce((sum, { restartCount }) => sum + (typeof restartCount === "number" ? restartCount : 0), 0),
    ip: textAt(childList(status, "podIPs")[0] ?? {}, "ip") || textOf(status, "podIP"),
    readinessGates: gates(pod),
  };
}

function departing(pod: ApiObject): string | null {
  if (pod.metadata.deletionTimestamp === undefined) return null;
  return textAt(pod, "status.reason") === "NodeLost" ? "Unknown" : "Terminating";
}

/** The words for the first init container that is not done; null when all are. */
function initializing(pod: ApiObject): string | null {
  const wanted = childList(childObject(pod, "spec"), "initContainers").length;
  for (const [index, container] of childList(childObject(pod, "status"), "initContainerStatuses").entries()) {
    const { terminated, waiting } = childObject(container, "state");
    if (isObject(terminated)) {
      if (terminated.exitCode === 0) continue;
      return `Init:${endOf(terminated)}`;
    }
    const reason = isObject(waiting) ? textOf(waiting, "reason") : "";
    return reason !== "" && reason !== "PodInitializing" ? `Init:${reason}` : `Init:${index}/${wanted}`;
  }
  return null;
}

/** The first container with something to say speaks for the pod. */
function running(pod: ApiObject, own: string, containers: readonly JsonObject[]): string {
  const words = containers.map(troubleOf).find((trouble) => trouble !== null) ?? own;
  if (words !== "Completed" || !containers.some(isRunning)) return words;
  const conditions = childList(childObject(pod, "status"), "conditions");
  const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
  return isReady ? "Running" : "NotReady";
}

function troubleOf(container: JsonObject): string | null {
  const { waiting, terminated } = childObject(container, "state");
  if (isObject(waiting) && textOf(waiting, "reason") !== "") return textOf(waiting, "reason");
  return isObject(terminated) ? endOf(terminated) : null;
}

function endOf(terminated: JsonObject): string {
  const { signal = 0, exitCode = 0 } = terminated;
  const numbered = signal === 0 ? `ExitCode:${Number(exitCode)}` : `Signal:${Number(signal)}`;
  return textOf(terminated, "reason") || numbered;
}

function isRunning(container: JsonObject): boolean {
  return container.ready === true && isObject(childObject(container, "state").running);
}

/** How many of the pod's own readiness gates are open. */
function gates(pod: ApiObject): string {
  const wanted = childList(childObject(pod, "spec"), "readinessGates");
  if (wanted.length === 0) return "";
  const conditions = childList(childObject(pod, "status"), "conditions");
  const open = wanted.filter(({ conditionType }) =>
    conditions.some(({ type, status }) => type === conditionType && status === "True"),
  );
  return `${open.length}/${wanted.length}`;
}
