/**
 * Several API servers behind one address, of which one has a clock that is apart from the others'. It stamps what it
 * creates: nodes that join, and new pods, most of them on nodes that are tainted already. Nothing repairs it.
 */
import type { Random } from "../../../protocols/ports.ts";
import { between, oneOf } from "../chance.ts";
import type { CheckedNode } from "../invariants.ts";
import type { Meddler } from "../meddler.ts";
import type { World } from "../world.ts";

/** How far its clock is apart, in seconds: less than an eviction may be late where anything is slow. */
export const APART_SECONDS = [5, 60] as const;
/** In how many cases a new pod comes to a node that is tainted, if there is one. */
const TAINTED_SHARE = 0.8;

/** The classes, by name. */
export const APART_SERVER_FAULTS = {
  apartServers: {
    everySeconds: 6,
    act: ({ world, count }, random) => {
      const isAhead = random() < 0.5;
      const seconds = between(random, ...APART_SECONDS);
      if (world.apart.isThere) {
        world.addPod(someNode(world, random), `pod-apart-${between(random, 1, 9_999)}`);
      } else {
        count(`API server with a clock ${isAhead ? "ahead" : "behind"}`);
        world.apart.begin((isAhead ? seconds : -seconds) * 1_000, random);
      }
      return undefined;
    },
  },
} satisfies Record<string, Meddler>;

function someNode(world: World, random: Random): string {
  const isTainted = ({ spec }: CheckedNode): boolean =>
    spec?.taints?.some(({ effect }) => effect === "NoExecute") === true;
  const tainted = world.objects<CheckedNode>("nodes").filter(isTainted);
  const isOnTainted = random() < TAINTED_SHARE && tainted.length > 0;
  return isOnTainted ? oneOf(random, tainted).metadata.name : world.anyKubelet(random).name;
}
