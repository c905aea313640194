/**
 * Pods that are there again within a second of their deletion, on the same node: those of a kubelet's own manifests
 * (static pods, which the API shows as mirror pods), and those with an owner that names the node.
 */
import { between, oneOf } from "../chance.ts";
import { lasting, type Meddler } from "../meddler.ts";
import { setMaintenance } from "./people.ts";

/** In how many cases a person taints the node, which such a pod does not tolerate. */
const TAINTED_SHARE = 0.5;

/** The classes, by name. */
export const RECREATED_POD_FAULTS = {
  staticPods: {
    everySeconds: 60,
    act: (reach, random) => {
      const { world, count } = reach;
      const kubelet = world.anyKubelet(random);
      const name = `pod-static-${between(random, 1, 99)}-${kubelet.name}`;
      const owner = oneOf(random, ["Node", "Node", "ReplicaSet"] as const);
      if (!kubelet.registered) return undefined;
      count(owner === "Node" ? "static pod" : "pod recreated on its node");
      const ends = [
        world.recreatedPods.add({ node: kubelet.name, name, owner }, random),
        ...(random() < TAINTED_SHARE ? [setMaintenance(world, kubelet.name)] : []),
      ];
      return lasting(reach, random, 120, () => {
        for (const end of ends) end();
      });
    },
  },
} satisfies Record<string, Meddler>;
