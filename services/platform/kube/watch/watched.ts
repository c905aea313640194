/** The resources that can be watched: their paths, projections and identities. */
import { FREEZE_CONFIG_MAP, LEASE_NAMESPACE } from "../../../../protocols/names.ts";
import { NODE_POLICY_API } from "../../../../protocols/node-policy.ts";
import type { Watched } from "../../../../protocols/ports.ts";
import type { Shape } from "../protobuf/protobuf.ts";
import { LEASE, NODE, POD } from "../protobuf/protobuf-shapes.ts";
import { collectionPath, discoveryPath } from "../transport/paths.ts";
import { type Scanned, scanLease } from "./lease-scan.ts";
import { LARGE_LIST_OPEN_MS } from "./listing.ts";
import {
  type ProjectionIo,
  projectFreezes,
  projectLease,
  projectNode,
  projectPod,
  projectPolicy,
} from "./projection.ts";

/** One resource as a reader uses it. */
export interface WatchedResource<T> {
  readonly path: string;
  /**
   * Selectors sent with every watch, but not with lists: kube-apiserver takes three times as long to filter 50,000 pods
   * as to send them all.
   */
  readonly selectors: Readonly<Record<string, string>>;
  /** Selectors sent with every list: a right to one named object allows only a list that selects that name. */
  readonly listSelectors: Readonly<Record<string, string>>;
  /**
   * How long a list may be without an answer, in milliseconds. What it would have shown is unknown until then: a
   * freeze, a policy, the leader.
   */
  readonly listOpenMs: number;
  /** The fields to decode from an item of a protobuf list; null where the API server offers JSON alone. */
  readonly shape: Shape | null;
  /** Where the API server says whether it serves the resource; null for one that every server has. */
  readonly discovery: { readonly path: string; readonly plural: string } | null;
  readonly project: (raw: unknown, io: ProjectionIo) => T | null;
  readonly namespace: (object: T) => string;
  readonly name: (object: T) => string;
  /** Distinguishes an object from an earlier one of the same name; empty where that does not matter. */
  readonly uid: (object: T) => string;
  /** Distinguishes a state of an object from its other ones. */
  readonly version: (object: T) => string;
  /** How long changes may wait to be read together, in milliseconds; 0 for no wait. */
  readonly gatherMs: number;
  /**
   * Reads a watch line that adds or changes an object without parsing it. Null, or returns null, where the line must be
   * parsed.
   */
  readonly scan: ((line: Uint8Array) => Scanned<T> | null) | null;
}

/**
 * Delays no verdict, because a renewal that waited counts from its stamp. At 300 leases a second the bytes that may be
 * gathered end a pause after about 120 ms.
 */
const LEASES_GATHER_MS = 250;

const ONE_CONFIG_MAP = { fieldSelector: `metadata.name=${FREEZE_CONFIG_MAP.name}` } as const;

/** A server answers a list of few objects as soon as it accepts a watch. */
const SMALL_LIST_OPEN_MS = 15_000;

/** What a resource has unless it says otherwise: few objects, no namespace, no selector, no protobuf, and no wait. */
export const PLAIN_RESOURCE = {
  selectors: {},
  listSelectors: {},
  listOpenMs: SMALL_LIST_OPEN_MS,
  shape: null,
  discovery: null,
  namespace: () => "",
  gatherMs: 0,
  scan: null,
} as const;

/** Every resource that can be watched. */
export const WATCHED: { readonly [K in keyof Watched]: WatchedResource<Watched[K]> } = {
  nodes: {
    ...PLAIN_RESOURCE,
    path: collectionPath("Node", ""),
    listOpenMs: LARGE_LIST_OPEN_MS,
    shape: NODE,
    project: projectNode,
    name: ({ node }) => node,
    uid: ({ uid }) => uid,
    version: ({ resourceVersion }) => resourceVersion,
  },
  leases: {
    ...PLAIN_RESOURCE,
    path: collectionPath("Lease", LEASE_NAMESPACE),
    listOpenMs: LARGE_LIST_OPEN_MS,
    shape: LEASE,
    project: projectLease,
    name: ({ node }) => node,
    uid: () => "",
    version: ({ renewedAt }) => String(renewedAt),
    gatherMs: LEASES_GATHER_MS,
    scan: scanLease,
  },
  pods: {
    ...PLAIN_RESOURCE,
    path: collectionPath("Pod", ""),
    // Unbound pods concern no service.
    selectors: { fieldSelector: "spec.nodeName!=" },
    listOpenMs: LARGE_LIST_OPEN_MS,
    shape: POD,
    project: projectPod,
    namespace: ({ pod }) => pod.namespace,
    name: ({ pod }) => pod.name,
    uid: ({ pod }) => pod.uid,
    version: ({ resourceVersion }) => resourceVersion,
  },
  policies: {
    ...PLAIN_RESOURCE,
    path: collectionPath("NodePolicy", ""),
    discovery: { path: discoveryPath("NodePolicy"), plural: NODE_POLICY_API.plural },
    project: projectPolicy,
    name: ({ name }) => name,
    uid: ({ uid }) => uid,
    version: ({ resourceVersion }) => resourceVersion,
  },
  freezes: {
    ...PLAIN_RESOURCE,
    path: collectionPath("ConfigMap", FREEZE_CONFIG_MAP.namespace),
    selectors: ONE_CONFIG_MAP,
    listSelectors: ONE_CONFIG_MAP,
    discovery: { path: discoveryPath("ConfigMap"), plural: "configmaps" },
    project: projectFreezes,
    name: ({ name }) => name,
    uid: ({ uid }) => uid,
    version: ({ resourceVersion }) => resourceVersion,
  },
};
