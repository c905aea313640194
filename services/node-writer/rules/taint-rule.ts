/** What the rules of the node-writer have in common: each is for one kind of taint, and decides what it requires. */
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode, Taint, TaintId } from "../../../protocols/objects.ts";
import type { PolicySet } from "../../../protocols/policy-set.ts";
import type { PatchBasis } from "../../platform/requests/guarded-patch.ts";

/** A request to change taints, without what identifies its node. */
export type TaintRequest = Pick<BodyOf<"asked.taint">, "add" | "remove" | "why" | "outOfService">;

/** A taint as it is to be added. */
export type WantedTaint = TaintRequest["add"][number];

/** What is known of the node when its taints are changed. */
export interface TaintContext {
  /** The node as just read; null where the request's version of it counts. */
  readonly live: ObservedNode | null;
  /** What the request, or the live node, shows of its taints. */
  readonly seen: Pick<ObservedNode, "taintSwap" | "taintsSeenAt">;
  readonly policies: PolicySet | null;
  readonly wallMs: number;
}

/** The taints of a node by what a patch does to them. */
export interface TaintPatch {
  readonly kept: readonly Taint[];
  readonly added: readonly WantedTaint[];
  readonly removed: readonly Taint[];
}

/** Annotations that are part of a patch; null removes one. */
export type AnnotationPatch = Readonly<Record<string, string | null>>;

/** One kind of taint. */
export interface TaintRule {
  owns(id: TaintId): boolean;
  /** Why the live node does not require a taint of this kind to be added or removed; null if it does. */
  founded(change: "add" | "remove", id: WantedTaint, context: TaintContext): string | null;
  annotations(patch: TaintPatch, context: TaintContext): AnnotationPatch;
  /** What else of the node the patch depends on. */
  basis(patch: TaintPatch, context: TaintContext): PatchBasis;
}

/** A patch that depends on nothing else. */
export const NO_BASIS: PatchBasis = { conditions: [], annotations: [] };
