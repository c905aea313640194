/**
 * One node of a preview: as the API showed it, with everything that Vigil has written to it since. No decision depends
 * on the name of a pod, so pods of one node that differ in nothing else share their fate: the actors get one of them.
 * Only where a policy limits the rate of evictions do they go one after the other, and the actors get all of them.
 */
import type { NodeShadowChange, ObservedNode, ObservedPod, Taint } from "../../../protocols/objects.ts";
import type { BoundPod } from "../../../protocols/ports.ts";
import { noExecuteTaints } from "../../domain/toleration.ts";
import type { NodeActor } from "../../node/node.actor.ts";
import { shadowedNode, withChange } from "../../platform/kube/shadow/node-shadow.policy.ts";
import type { TaintedNode } from "../../taint-manager/tainted-node.ts";

/** A pod that is bound so shortly before the preview may count from then, not from the taint of its node. */
const BOUND_LATELY_MS = 60_000;

/** Pods of one node that share their fate. */
export interface AlikePods {
  /** The uid of the one that the actors get. */
  readonly uid: string;
  readonly pods: readonly ObservedPod[];
}

/** What is known of a node beside its object. */
interface PreviewedNodeOptions {
  /** Whether its kubelet sends heartbeats as long as the preview lasts. */
  readonly isAlive: boolean;
  /** When the preview begins, epoch milliseconds. */
  readonly takenAt: number;
  /** Whether its policy limits the rate of evictions. */
  readonly isRated: boolean;
}

/** A node with its pods and its actors. */
export class PreviewedNode {
  readonly #found: ObservedNode;
  /** Whether its kubelet sends heartbeats as long as the preview lasts. */
  readonly isAlive: boolean;
  #written: NodeShadowChange = {};
  #revision = 0;
  #shown: ObservedNode;
  readonly #bound: readonly BoundPod[];
  readonly #takenAt: number;
  readonly #isRated: boolean;
  #alike: readonly AlikePods[] | null = null;
  /** The pods that the actors get, by uid. */
  #acting: Map<string, ObservedPod> | null = null;
  #pods: readonly ObservedPod[] | null = null;
  actor: NodeActor | null = null;
  tainted: TaintedNode | null = null;
  /** Whether it waits to be admitted for eviction. */
  isWaiting = false;
  /** When it became Unknown, and when it first carried a NoExecute taint of Vigil's, on the virtual clock. */
  unknownMs: number | null = null;
  taintedMs: number | null = null;

  constructor(node: ObservedNode, pods: readonly BoundPod[], { isAlive, takenAt, isRated }: PreviewedNodeOptions) {
    this.#found = node;
    this.#shown = node;
    this.#bound = pods;
    this.#takenAt = takenAt;
    this.#isRated = isRated;
    this.isAlive = isAlive;
  }

  get name(): string {
    return this.#found.node;
  }

  /** The node as the API would show it now. */
  get shown(): ObservedNode {
    return this.#shown;
  }

  /** All its pods. */
  get alikePods(): readonly AlikePods[] {
    this.#alike ??= [...Map.groupBy(this.#bound, ({ pod }) => this.#kindOf(pod)).values()].map((bound) => ({
      uid: bound[0]?.pod.uid ?? "",
      pods: bound.map(({ pod }) => pod),
    }));
    return this.#alike;
  }

  /** The pods that the actors get. A change replaces the list, because actors compare it with the one before. */
  get pods(): readonly ObservedPod[] {
    this.#pods ??= [...this.#actingPods().values()];
    return this.#pods;
  }

  pod(uid: string): ObservedPod | undefined {
    return this.#actingPods().get(uid);
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
    this.#actingPods().set(changed.uid, changed);
    this.#pods = null;
  }

  /** Most nodes need none. */
  #actingPods(): Map<string, ObservedPod> {
    this.#acting ??= new Map(this.alikePods.flatMap(({ uid, pods: [pod] }) => (pod === undefined ? [] : [[uid, pod]])));
    return this.#acting;
  }

  /** Everything about a pod that a decision depends on. When it was bound matters only to a taint from before. */
  #kindOf({ uid, boundAt, phase, ready, owner, deletionAt, tolerations }: ObservedPod): string {
    if (this.#isRated) return uid;
    const isDated = boundAt > this.#takenAt - BOUND_LATELY_MS || noExecuteTaints(this.#found.taints).length > 0;
    return JSON.stringify([isDated ? boundAt : null, phase, ready, owner, deletionAt, tolerations]);
  }
}
