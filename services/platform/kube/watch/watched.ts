/** What can be watched: where each resource lives, how it is projected and told apart. It sends nothing. */
import { LEASE_NAMESPACE } from "../../../../protocols/names.ts";
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { BoundPod, ObservedLease, Watched } from "../../../../protocols/ports.ts";
import type { Shape } from "../protobuf/protobuf.ts";
import { LEASE, NODE, POD } from "../protobuf/protobuf-shapes.ts";
import { collectionPath } from "../transport/paths.ts";
import { type Scanned, scanLease } from "./lease-scan.ts";
import { type ProjectionIo, projectLease, projectNode, projectPod } from "./projection.ts";

/** One resource as a reader sees it. */
export interface WatchedResource<T> {
  readonly path: string;
  /**
   * Selectors sent with every watch. Lists do without: kube-apiserver spends three times as long on choosing 50,000
   * pods as on sending them.
   */
  readonly selectors: Readonly<Record<string, string>>;
  /** What is read of an item of a list in protobuf. */
  readonly shape: Shape;
  readonly project: (raw: unknown, io: ProjectionIo) => T | null;
  readonly namespace: (object: T) => string;
  readonly name: (object: T) => string;
  /** Tells an object from an earlier one of the same name; empty where that does not matter. */
  readonly uid: (object: T) => string;
  /** How long changes may wait to be read together, in milliseconds; 0 where each is read as it comes. */
  readonly gatherMs: number;
  /**
   * Reads a watch line that adds or changes an object without parsing it; gives null, or is it, where lines must be
   * parsed.
   */
  readonly scan: ((line: Uint8Array) => Scanned<T> | null) | null;
}

/**
 * Verdicts come later by half of this on average, of the 50 ms that they may be late in all. At 300 leases a second six
 * or seven are then read at once. Twice as long would save another tenth of the CPU.
 */
const LEASES_GATHER_MS = 20;

/** Every resource that can be watched. */
export const WATCHED: { readonly [K in keyof Watched]: WatchedResource<Watched[K]> } = {
  nodes: {
    path: collectionPath("Node", ""),
    selectors: {},
    shape: NODE,
    project: projectNode,
    namespace: () => "",
    name: (node: ObservedNode) => node.node,
    uid: (node: ObservedNode) => node.uid,
    gatherMs: 0,
    scan: null,
  },
  leases: {
    path: collectionPath("Lease", LEASE_NAMESPACE),
    selectors: {},
    shape: LEASE,
    project: projectLease,
    namespace: () => "",
    name: (lease: ObservedLease) => lease.node,
    uid: () => "",
    gatherMs: LEASES_GATHER_MS,
    scan: scanLease,
  },
  pods: {
    path: collectionPath("Pod", ""),
    // Pods that are not bound yet concern nobody here.
    selectors: { fieldSelector: "spec.nodeName!=" },
    shape: POD,
    project: projectPod,
    namespace: ({ pod }: BoundPod) => pod.namespace,
    name: ({ pod }: BoundPod) => pod.name,
    uid: ({ pod }: BoundPod) => pod.uid,
    gatherMs: 0,
    scan: null,
  },
};
