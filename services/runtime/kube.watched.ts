/** What can be watched: where each resource lives, how it is projected and told apart. It sends nothing. */
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { BoundPod, ObservedLease, Watched } from "../../protocols/ports.ts";
import { scanLease } from "./kube.lease-scan.ts";
import { collectionPath } from "./kube.paths.ts";
import { type ProjectionIo, projectLease, projectNode, projectPod } from "./kube.projection.ts";

/** One resource as a reader sees it. */
export interface WatchedResource<T> {
  readonly path: string;
  /** Selectors sent with every list and watch. */
  readonly selectors: Readonly<Record<string, string>>;
  readonly project: (raw: unknown, io: ProjectionIo) => T | null;
  readonly namespace: (object: T) => string;
  readonly name: (object: T) => string;
  /** Tells an object from an earlier one of the same name; empty where that does not matter. */
  readonly uid: (object: T) => string;
  /** Reads a watch line that adds or changes an object without parsing it; null when it must be parsed. */
  readonly scan: (line: Uint8Array) => { readonly object: T; readonly resourceVersion: string } | null;
}

const neverScanned = (): null => null;

/** Every resource that can be watched. */
export const WATCHED: { readonly [K in keyof Watched]: WatchedResource<Watched[K]> } = {
  nodes: {
    path: collectionPath("Node", ""),
    selectors: {},
    project: projectNode,
    namespace: () => "",
    name: (node: ObservedNode) => node.node,
    uid: (node: ObservedNode) => node.uid,
    scan: neverScanned,
  },
  leases: {
    path: collectionPath("Lease", LEASE_NAMESPACE),
    selectors: {},
    project: projectLease,
    namespace: () => "",
    name: (lease: ObservedLease) => lease.node,
    uid: () => "",
    scan: (line) => {
      const scanned = scanLease(line);
      return scanned === null ? null : { object: scanned.lease, resourceVersion: scanned.resourceVersion };
    },
  },
  pods: {
    path: collectionPath("Pod", ""),
    // Pods that are not bound yet concern nobody here, so they are not sent at all.
    selectors: { fieldSelector: "spec.nodeName!=" },
    project: projectPod,
    namespace: ({ pod }: BoundPod) => pod.namespace,
    name: ({ pod }: BoundPod) => pod.name,
    uid: ({ pod }: BoundPod) => pod.uid,
    scan: neverScanned,
  },
};
