/**
 * The setters in their order (9.8), and the run over all of them. Pure: the same node and figures give the same status.
 */
import type { NodeObject } from "./node-object.ts";
import { setAddresses } from "./setters/addresses.ts";
import { setMachine } from "./setters/capacity.ts";
import {
  reportSchedulable,
  setEndpoints,
  setImages,
  setPlatform,
  setVersion,
  setVolumesInUse,
} from "./setters/description.ts";
import { setDiskPressure, setMemoryPressure, setPidPressure } from "./setters/pressure.ts";
import { setReady } from "./setters/ready.ts";
import type { NodeEvent, Setter, SetterInput } from "./setters/setter.ts";

/** Every setter in the order of 9.8, whose numbers the setters' files give; 7 has nothing to set here. */
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
  setVolumesInUse,
  reportSchedulable,
];

/** A node with its status computed, the Events to emit once that status stands at the API, and what went wrong. */
export interface ComputedStatus {
  readonly node: NodeObject;
  readonly events: readonly NodeEvent[];
  readonly problems: readonly string[];
}

/** Runs all setters; one that fails does not keep the others from running (R9.18). */
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
