/** Runs the setters that compute a node's status, in kubelet's order. */
import type { NodeObject } from "./node-object.ts";
import { setAddresses } from "./setters/addresses.ts";
import { setMachine } from "./setters/capacity.ts";
import { reportSchedulable, setEndpoints, setImages, setPlatform, setVersion } from "./setters/description.ts";
import { setDiskPressure, setMemoryPressure, setPidPressure } from "./setters/pressure.ts";
import { setReady } from "./setters/ready.ts";
import type { NodeEvent, Setter, SetterInput } from "./setters/setter.ts";

const SETTERS: readonly Setter[] = [
  setAddresses,
  setMachine,
  setVersion,
  setEndpoints,
  setImages,
  setPlatform,
  setMemoryPressure,
  setDiskPressure,
  setPidPressure,
  setReady,
  reportSchedulable,
];

/** A node with its computed status, the Events to emit once that status is posted, and the problems. */
export interface ComputedStatus {
  readonly node: NodeObject;
  readonly events: readonly NodeEvent[];
  readonly problems: readonly string[];
}

/** Runs all setters; one that fails does not stop the others (R9.18). */
export function computeStatus(node: NodeObject, input: SetterInput): ComputedStatus {
  const events: NodeEvent[] = [];
  const problems: string[] = [];
  let computed = node;
  for (const setter of SETTERS) {
    const output = setter(computed, input);
    computed = output.node;
    events.push(...(output.events ?? []));
    if (output.problem !== undefined) problems.push(output.problem);
  }
  return { node: computed, events, problems };
}
