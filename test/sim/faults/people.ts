/** What people and other controllers do to nodes and pods, without coordination with Vigil. */
import type { Stop } from "../../../protocols/ports.ts";
import { isObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { between, oneOf } from "../chance.ts";
import { lasting, type Meddler } from "../meddler.ts";
import type { World } from "../world.ts";

/** The taint that people set. */
export const FOREIGN_TAINT = "example.com/maintenance";

/** The classes, by name. */
export const PEOPLE_FAULTS = {
  podChurn: {
    everySeconds: 10,
    act: ({ world }, random) => {
      const pod = world.anyPod(random);
      // A replacement with the same name, as a StatefulSet creates it, often on another node.
      if (pod !== null) world.remove("pods", pod.name);
      world.addPod(world.anyKubelet(random).name, pod?.name ?? `pod-new-${between(random, 1, 999)}`);
      return undefined;
    },
  },
  tolerationEdits: {
    everySeconds: 15,
    act: ({ world }, random) => {
      const pod = world.anyPod(random);
      const tolerationSeconds = oneOf(random, [0, 5, 25, 200]);
      const key = oneOf(random, ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready", FOREIGN_TAINT]);
      if (pod === null || pod.terminating) return undefined;
      world.edit("pods", pod.name, (object) => {
        const spec = isObject(object.spec) ? object.spec : {};
        const tolerations = Array.isArray(spec.tolerations) ? spec.tolerations : [];
        const added = { key, operator: "Exists", effect: "NoExecute", tolerationSeconds };
        return { ...object, spec: { ...spec, tolerations: [...tolerations, added] } };
      });
      return undefined;
    },
  },
  humanTaints: {
    everySeconds: 45,
    act: (reach, random) => {
      const { name } = reach.world.anyKubelet(random);
      const end = setMaintenance(reach.world, name);
      return random() < 0.7 ? lasting(reach, random, 60, end) : undefined;
    },
  },
  cordons: {
    everySeconds: 40,
    act: ({ world }, random) => {
      world.edit("nodes", world.anyKubelet(random).name, (node) => {
        const spec = isObject(node.spec) ? node.spec : {};
        return { ...node, spec: { ...spec, unschedulable: random() < 0.5 } };
      });
      return undefined;
    },
  },
} satisfies Record<string, Meddler>;

/** A person taints a node. The returned function removes the taint. */
export function setMaintenance(world: World, name: string): Stop {
  const set = (isTainted: boolean): void =>
    world.edit("nodes", name, (node) => {
      const spec = isObject(node.spec) ? node.spec : {};
      const taints = (Array.isArray(spec.taints) ? spec.taints : []).filter(
        (taint) => isObject(taint) && taint.key !== FOREIGN_TAINT,
      );
      const all = isTainted ? [...taints, { key: FOREIGN_TAINT, value: "yes", effect: "NoExecute" }] : taints;
      return { ...node, spec: { ...spec, taints: all } };
    });
  set(true);
  return () => set(false);
}
