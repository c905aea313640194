/** The resources that can be watched: their paths, projections and identities. */
import { LEASE_NAMESPACE } from "../../../../protocols/names.ts";
import type { ObservedNode } from "../../../../protocols/objects.ts";
import type { BoundPod, ObservedLease, Watched } from "../../../../protocols/ports.ts";
import type { Shape } from "../protobuf/protobuf.ts";
import { LEASE, NODE, POD } from "../protobuf/protobuf-shapes.ts";
import { collectionPath } from "../transport/paths.ts";
import { type Scanned, scanLease } from "./lease-scan.ts";
import { type ProjectionIo, projectLease, projectNode, projectPod } from "./projection.ts";

/** One resource as a reader uses it. */
export interface WatchedResource<T> {
  readonly path: string;
  /**
   * Selectors sent with every watch, but not with lists: kube-apiserver takes three times as long to filter 50,000 pods
   * as to send them all.
   */
  readonly selectors: Readonly<Record<string, string>>;
  /** The fields to decode from an item of a protobuf list. */
  readonly shape: Shape;
  readonly project: (raw: unknown, io: ProjectionIo) => T | null;
  readonly namespace: (object: T) => string;
  readonly name: (object: T) => string;
  /** Distinguishes an object from an earlier one of the same name; empty where that does not matter. */
  readonly uid: (object: T) => string;
  /** How long changes may wait to be read together, in milliseconds; 0 for no wait. */
  readonly gatherMs: number;
  /**
   * Reads a watch line that adds or changes an object without parsing it. Null, or returns null, where the line must be
   * parsed.
   */
  readonly scan: ((line: Uint8Array) => Scanned<T> | null) | null;
}

/**
 * Delays verdicts by half of this on average, out of a budget of 50 ms. At 300 leases a second, six or seven are then
 * read at once. Twice as long would save another tenth of the CPU.
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
    // Unbound pods concern no service.
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
