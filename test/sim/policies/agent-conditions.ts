/** The conditions that agents report of nodes beside their kubelets: of illnesses, and of maintenance. */
import { apiTime } from "../../../services/domain/api-time.ts";
import type { SimulatedKubelet } from "../kubelet.ts";
import type { World } from "../world.ts";
import { CONDITION_TYPES, HOLD_TYPE } from "./condition-checks.ts";

const REPORTED_TYPES: readonly string[] = [...CONDITION_TYPES, HOLD_TYPE];

/** Reports a condition of a node, or that it has none; false where that was so already. */
export function reportCondition(world: World, kubelet: SimulatedKubelet, type: string, status: string | null): boolean {
  const before = kubelet.agentConditions.find((each) => each.type === type);
  if (before?.status === status) return false;
  const others = kubelet.agentConditions.filter((each) => each.type !== type);
  const lastTransitionTime = apiTime(world.clock.wallMs());
  kubelet.agentConditions = status === null ? others : [...others, { type, status, lastTransitionTime }];
  world.editStatus(kubelet.name, (conditions) => [
    ...conditions.filter((each) => !REPORTED_TYPES.some((known) => known === each.type)),
    ...kubelet.agentConditions,
  ]);
  return true;
}
