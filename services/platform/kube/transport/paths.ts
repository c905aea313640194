/** The API paths of kinds and objects. */
import { NODE_POLICY_API } from "../../../../protocols/node-policy.ts";
import type { ObjectRef, ReviewKind } from "../../../../protocols/ports.ts";

interface Place {
  readonly root: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

const CORE = "/api/v1";

/** The kinds with a path of their own. */
type KnownKind = Exclude<ObjectRef["kind"], "CustomResource">;

const PLACES: Readonly<Record<KnownKind, Place>> = {
  Node: { root: CORE, plural: "nodes", namespaced: false },
  Pod: { root: CORE, plural: "pods", namespaced: true },
  Lease: { root: "/apis/coordination.k8s.io/v1", plural: "leases", namespaced: true },
  Event: { root: CORE, plural: "events", namespaced: true },
  DaemonSet: { root: "/apis/apps/v1", plural: "daemonsets", namespaced: true },
  Namespace: { root: CORE, plural: "namespaces", namespaced: false },
  ConfigMap: { root: CORE, plural: "configmaps", namespaced: true },
  PersistentVolumeClaim: { root: CORE, plural: "persistentvolumeclaims", namespaced: true },
  VolumeAttachment: { root: "/apis/storage.k8s.io/v1", plural: "volumeattachments", namespaced: false },
  NodePolicy: {
    root: `/apis/${NODE_POLICY_API.group}/${NODE_POLICY_API.version}`,
    plural: NODE_POLICY_API.plural,
    namespaced: false,
  },
};

const REVIEW_PATHS: Readonly<Record<ReviewKind, string>> = {
  TokenReview: "/apis/authentication.k8s.io/v1/tokenreviews",
  SubjectAccessReview: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
};

/** The path to which reviews of a kind are posted. */
export function reviewPath(kind: ReviewKind): string {
  return REVIEW_PATHS[kind];
}

/** The path of a kind's collection in one namespace, or in all when it is empty. */
export function collectionPath(kind: KnownKind, namespace: string): string {
  return pathIn(PLACES[kind], namespace);
}

/** Where the API server says which resources of a kind's group and version it serves. */
export function discoveryPath(kind: KnownKind): string {
  return PLACES[kind].root;
}

/** The path of the collection that an object is in. */
export function collectionPathOf(ref: ObjectRef): string {
  return pathIn(placeOf(ref), ref.namespace);
}

/** The path of one object, or of a whole collection where it has no name. */
export function objectPath(ref: ObjectRef): string {
  return ref.name === "" ? collectionPathOf(ref) : `${collectionPathOf(ref)}/${encodeURIComponent(ref.name)}`;
}

function placeOf({ kind, resource }: ObjectRef): Place {
  if (kind !== "CustomResource") return PLACES[kind];
  const { group = "", version = "", plural = "" } = resource ?? {};
  return { root: `/apis/${group}/${version}`, plural, namespaced: true };
}

function pathIn({ root, plural, namespaced }: Place, namespace: string): string {
  return namespaced && namespace !== ""
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`
    : `${root}/${plural}`;
}
