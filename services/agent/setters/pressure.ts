/** Sets the three pressure conditions. ../pressure.policy.ts decides whether there is pressure. */
import { ConditionType } from "../../../protocols/names.ts";
import { apiTime } from "../../domain/api-time.ts";
import { conditionOf, withCondition } from "../node-object.ts";
import { type Pressures, type Setter, statusEvent } from "./setter.ts";

/** Reason and message of the condition, and reason of the Event. */
interface Wording {
  readonly reason: string;
  readonly message: string;
  readonly event: string;
}

/** A pressure condition and its texts, as kubelet writes them. */
interface PressureKind {
  readonly type: string;
  readonly pressed: Wording;
  readonly free: Wording;
}

const wording = (reason: string, message: string, event: string): Wording => ({ reason, message, event });

const KINDS: Readonly<Record<keyof Pressures, PressureKind>> = {
  memory: {
    type: ConditionType.memoryPressure,
    pressed: wording(
      "KubeletHasInsufficientMemory",
      "kubelet has insufficient memory available",
      "NodeHasInsufficientMemory",
    ),
    free: wording("KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"),
  },
  disk: {
    type: ConditionType.diskPressure,
    pressed: wording("KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
    free: wording("KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"),
  },
  pid: {
    type: ConditionType.pidPressure,
    pressed: wording("KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"),
    free: wording("KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"),
  },
};

/** Sets MemoryPressure. */
export const setMemoryPressure = pressureSetter("memory");
/** Sets DiskPressure. */
export const setDiskPressure = pressureSetter("disk");
/** Sets PIDPressure. */
export const setPidPressure = pressureSetter("pid");

/** The heartbeat is always new; all else changes only with the status, so an outdated reason stays (L49). */
function pressureSetter(resource: keyof Pressures): Setter {
  const { type, pressed, free } = KINDS[resource];
  return (node, { pressures, nowMs }) => {
    const now = apiTime(nowMs);
    const before = conditionOf(node, type);
    const status = pressures[resource] ? "True" : "False";
    if (before?.status === status) return { node: withCondition(node, { ...before, lastHeartbeatTime: now }) };
    const { reason, message, event } = pressures[resource] ? pressed : free;
    const condition = { type, status, lastHeartbeatTime: now, lastTransitionTime: now, reason, message };
    return { node: withCondition(node, condition), events: [statusEvent(node, event)] };
  };
}
