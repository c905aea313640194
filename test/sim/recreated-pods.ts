/** Keeps pods on their nodes: one that is deleted is there again within a second. It knows no rule of Vigil. */
import type { Random, Stop } from "../../protocols/ports.ts";
import type { JsonObject } from "../../services/sandbox/apiserver/api-objects.ts";
import { between } from "./chance.ts";
import type { World } from "./world.ts";

/** How soon a pod is there again, in milliseconds. */
const AGAIN_MS = [100, 1_000] as const;

/** A pod that is recreated on its node: by the kubelet, which owns it as its node, or by a controller. */
export interface RecreatedPod {
  readonly node: string;
  readonly name: string;
  readonly owner: "Node" | "ReplicaSet";
}

/** It tolerates nothing; without these, admission would add 300 s for each of the two. */
const TOLERATIONS = ["not-ready", "unreachable"].map((illness) => ({
  key: `node.kubernetes.io/${illness}`,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 0,
}));

/** The recreated pods of a world. */
export class RecreatedPods {
  readonly #world: World;
  readonly #kept = new Map<string, { readonly pod: RecreatedPod; readonly random: Random }>();

  constructor(world: World) {
    this.#world = world;
    world.api.store.collection("pods").listen(({ type, now }) => {
      if (type === "DELETED") this.#again(now.name);
    });
  }

  /** Creates a pod and keeps it on its node until the returned function ends it and removes it. */
  add(pod: RecreatedPod, random: Random): Stop {
    this.#kept.set(pod.name, { pod, random });
    this.#create(pod);
    return () => {
      this.#kept.delete(pod.name);
      this.#world.remove("pods", pod.name);
    };
  }

  #again(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    this.#world.clock.after(between(kept.random, ...AGAIN_MS), () => {
      if (this.#kept.get(name) === kept) this.#create(kept.pod);
    });
  }

  #create({ node, name, owner }: RecreatedPod): void {
    const kubelet = this.#world.kubelets.get(node);
    if (kubelet?.registered !== true || !this.#world.access.accepts()) return;
    if (owner === "Node" && !kubelet.alive) return;
    this.#world.addPod(node, name, { tolerations: TOLERATIONS, metadata: metadataOf(owner, node) });
  }
}

function metadataOf(owner: RecreatedPod["owner"], node: string): JsonObject {
  const apiVersion = owner === "Node" ? "v1" : "apps/v1";
  const ownerReferences = [{ apiVersion, kind: owner, name: node, uid: `${owner}-${node}`, controller: true }];
  // What marks a mirror pod: the API server's view of a pod that the kubelet runs from its own manifests.
  const annotations = owner === "Node" ? { "kubernetes.io/config.mirror": "1" } : {};
  return { ownerReferences, annotations };
}
