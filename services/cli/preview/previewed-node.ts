/** One node of a preview: as the API showed it, with everything that Vigil has written to it since. */
import type { NodeShadowChange, ObservedNode, ObservedPod, Taint } from "../../../protocols/objects.ts";
import type { BoundPod } from "../../../protocols/ports.ts";
import type { NodeActor } from "../../node/node.actor.ts";
import { shadowedNode, withChange } from "../../platform/kube/shadow/node-shadow.policy.ts";
import type { TaintedNode } from "../../taint-manager/tainted-node.ts";

/** A node with its pods and its actors. */
export class PreviewedNode {
  readonly #found: ObservedNode;
  /** Whether its kubelet sends heartbeats as long as the preview lasts. */
  readonly isAlive: boolean;
  #written: NodeShadowChange = {};
  #revision = 0;
  #shown: ObservedNode;
  readonly #bound: readonly BoundPod[];
  #pods: readonly ObservedPod[] | null = null;
  actor: NodeActor | null = null;
  tainted: TaintedNode | null = null;
  /** When it became Unknown, and when it first carried a NoExecute taint of Vigil's, on the virtual clock. */
  unknownMs: number | null = null;
  taintedMs: number | null = null;

  constructor(node: ObservedNode, pods: readonly BoundPod[], isAlive: boolean) {
    this.#found = node;
    this.#shown = node;
    this.#bound = pods;
    this.isAlive = isAlive;
  }

  get name(): string {
    return this.#found.node;
  }

  /** The node as the API would show it now. */
  get shown(): ObservedNode {
    return this.#shown;
  }

  /** Its pods. A change replaces the list, because actors compare it with the one before. Most nodes need none. */
  get pods(): readonly ObservedPod[] {
    this.#pods ??= this.#bound.map(({ pod, resourceVersion }) => ({ ...pod, resourceVersion }));
    return this.#pods;
  }

  /** Applies a write of Vigil. */
  write(change: NodeShadowChange): void {
    this.#written = withChange(this.#written, change);
    this.#revision += 1;
    this.#shown = shadowedNode(this.#found, this.#written, this.#revision);
  }

  /** Adds a taint as a person would, without a stamp. */
  taint(taint: Taint): void {
    this.write({ added: [taint] });
  }

  /** Replaces one pod. */
  putPod(changed: ObservedPod): void {
    this.#pods = this.pods.map((pod) => (pod.uid === changed.uid ? changed : pod));
  }
}
