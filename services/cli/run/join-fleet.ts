/** Joins the fleet before anything is started that could speak, so that who is refused has said nothing. */
import { type BusFleet, busFleet } from "../../platform/fleet/fleet.ts";
import { busOf, type ControllerParts } from "../controller.ts";
import { Failure } from "../verb.ts";

/**
 * The fleet of a process that knows which Kubernetes cluster it minds, once it has listened for strangers; null, at
 * once, for every other. Throws a Failure where there are some.
 */
export async function joinFleet(parts: ControllerParts, waitsFor: (what: string) => void): Promise<BusFleet | null> {
  if (!parts.foreignMembers) return null;
  waitsFor("the members of the fleet to be heard");
  const listened = Promise.withResolvers<string | null>();
  const fleet = busFleet({ ...parts, bus: busOf(parts, "fleet"), listened: listened.resolve });
  const problem = await listened.promise;
  if (problem !== null) throw new Failure(problem);
  return fleet;
}
