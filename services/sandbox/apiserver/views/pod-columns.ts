/** The cells of kubectl's pod table that summarise a pod's state. Pure. */
import { type ApiObject, childList, childObject, isObject, type JsonObject, textAt, textOf } from "../api-objects.ts";

/** The computed cells of a pod; an empty text is shown as `<none>`. */
export interface PodCells {
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly ip: string;
  readonly readinessGates: string;
}

/** The computed cells of a pod. Init containers are not summarised: hollow nodes run none. */
export function podCells(pod: ApiObject): PodCells {
  const status = childObject(pod, "status");
  const containers = childList(status, "containerStatuses");
  return {
    ready: `${containers.filter(isRunning).length}/${childList(childObject(pod, "spec"), "containers").length}`,
    status: statusOf(pod, textOf(status, "reason") || textOf(status, "phase"), containers),
    restarts: containers.reduce((sum, { restartCount = 0 }) => sum + Number(restartCount), 0),
    ip: textAt(childList(status, "podIPs")[0] ?? {}, "ip") || textOf(status, "podIP"),
    readinessGates: readinessGates(pod),
  };
}

/** The first container that waits or has ended gives the status, unless others run beside a completed one. */
function statusOf(pod: ApiObject, own: string, containers: readonly JsonObject[]): string {
  if (pod.metadata.deletionTimestamp !== undefined) return own === "NodeLost" ? "Unknown" : "Terminating";
  const status = containers.map(reasonOf).find((reason) => reason !== "") ?? own;
  if (status !== "Completed" || !containers.some(isRunning)) return status;
  return isTrue(pod, "Ready") ? "Running" : "NotReady";
}

function reasonOf(container: JsonObject): string {
  const { waiting, terminated } = childObject(container, "state");
  if (isObject(waiting) && textOf(waiting, "reason") !== "") return textOf(waiting, "reason");
  if (!isObject(terminated)) return "";
  const { signal = 0, exitCode = 0 } = terminated;
  const code = signal === 0 ? `ExitCode:${Number(exitCode)}` : `Signal:${Number(signal)}`;
  return textOf(terminated, "reason") || code;
}

function isRunning(container: JsonObject): boolean {
  return container.ready === true && isObject(childObject(container, "state").running);
}

function isTrue(pod: ApiObject, condition: string): boolean {
  const conditions = childList(childObject(pod, "status"), "conditions");
  return conditions.some(({ type, status }) => type === condition && status === "True");
}

function readinessGates(pod: ApiObject): string {
  const gates = childList(childObject(pod, "spec"), "readinessGates");
  const open = gates.filter((gate) => isTrue(pod, textOf(gate, "conditionType")));
  return gates.length === 0 ? "" : `${open.length}/${gates.length}`;
}
