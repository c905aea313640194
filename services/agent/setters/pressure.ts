/** Sets the three pressure conditions. ../pressure.policy.ts decides whether there is pressure. */
import { ConditionType } from "../../../protocols/names.ts";
import { apiTime } from "../../domain/api-time.ts";
import { conditionOf, type NodeCondition, withCondition } from "../node-object.ts";
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
  readonly resource: keyof Pressures;
  readonly pressed: Wording;
  readonly free: Wording;
}

const wording = (reason: string, message: string, event: string): Wording => ({ reason, message, event });

const KINDS = {
  memory: {
    type: ConditionType.memoryPressure,
    resource: "memory",
    pressed: wording(
      "KubeletHasInsufficientMemory",
      "kubelet has insufficient memory available",
      "NodeHasInsufficientMemory",
    ),
    free: wording("KubeletHasSufficientMemory", "kubelet has sufficient memory available", "NodeHasSufficientMemory"),
  },
  disk: {
    type: ConditionType.diskPressure,
    resource: "disk",
    pressed: wording("KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"),
    free: wording("KubeletHasNoDiskPressure", "kubelet has no disk pressure", "NodeHasNoDiskPressure"),
  },
  pid: {
    type: ConditionType.pidPressure,
    resource: "pid",
    pressed: wording("KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"),
    free: wording("KubeletHasSufficientPID", "kubelet has sufficient PID available", "NodeHasSufficientPID"),
  },
} as const satisfies Record<keyof Pressures, PressureKind>;

/** Sets MemoryPressure. */
export const setMemoryPressure = pressureSetter(KINDS.memory);
/** Sets DiskPressure. */
export const setDiskPressure = pressureSetter(KINDS.disk);
/** Sets PIDPressure. */
export const setPidPressure = pressureSetter(KINDS.pid);

/** The heartbeat is always new; all else changes only with the status, so an outdated reason stays (L49). */
function pressureSetter(kind: PressureKind): Setter {
  return (node, { pressures, nowMs }) => {
    const now = apiTime(nowMs);
    const before = conditionOf(node, kind.type);
    const pressed = pressures[kind.resource];
    const status = pressed ? "True" : "False";
    if (before?.status === status) return { node: withCondition(node, { ...before, lastHeartbeatTime: now }) };
    const { reason, message, event } = pressed ? kind.pressed : kind.free;
    const condition: NodeCondition = {
      type: kind.type,
      status,
      lastHeartbeatTime: now,
      lastTransitionTime: now,
      reason,
      message,
    };
    return { node: withCondition(node, condition), events: [statusEvent(node, event)] };
  };
}
