/** A silent node has to be found in time after the last disturbance, and a process that flaps may keep its services. */
import { expect, test } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { profileGrace } from "./graces.ts";
import { NodeStates } from "./node-states.ts";
import { SilentNodes } from "./silent-nodes.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

const S = 1000;

/** Looks at a node that is silent from the start, after a process was lost at these seconds and died at another. */
function lookAt(seconds: number, lostSeconds: readonly number[], diedSeconds = Number.NEGATIVE_INFINITY): () => void {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1);
  const world = new World({ ...drawn, plot: null, zones: [], faults: new Set(), profile: STANDARD_PROFILE });
  const states = new NodeStates();
  const silentNodes = new SilentNodes({ world, states, graces: () => [profileGrace(STANDARD_PROFILE)], isDrawn: true });
  const { name } = world.join({ name: "zone-1", labels: "none", nodes: 0 }, 1, 0);
  const ready = { metadata: { name, uid: "u" }, spec: {}, status: { conditions: [{ type: "Ready", status: "True" }] } };
  states.note(ready, false, world.clock.wallMs());
  world.kubelets.get(name)?.stop();
  for (const lost of lostSeconds) {
    world.clock.advance(lost * S - world.clock.monotonicMs());
    silentNodes.disturbed();
    silentNodes.lost({ name: "p1", lastDeathMs: diedSeconds * S });
  }
  world.clock.advance(seconds * S - world.clock.monotonicMs());
  return () => silentNodes.look(true);
}

// A recovery of 15 s, the grace of 50 s and 3 s for the write after the loss at second 60, and a pause of 30 s.
test.each<[string, number, number[], number | undefined, boolean]>([
  ["lost once", 127, [60], undefined, false],
  ["lost once", 129, [60], undefined, true],
  ["cut off again", 157, [10, 60], undefined, false],
  ["cut off again", 159, [10, 60], undefined, true],
  ["killed after it was cut off", 129, [10, 60], 60, true],
])("a node is silent, and a process was %s, at second %i", (_what, seconds, lost, died, isLate) => {
  const look = lookAt(seconds, lost, died);
  if (isLate) expect(look).toThrow("zone-1-n1 is silent and was not made Unknown");
  else expect(look).not.toThrow();
});
