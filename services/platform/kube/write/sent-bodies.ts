/**
 * The shapes of what Vigil sends to the API server, from the types of `@kubernetes/client-node`. A field that the API
 * does not have is a compile error where the body is built, such as `{ spec: { taint: [] } }` for a NodePatch.
 *
 * Types alone: nothing of that package runs. What is read has other types, because a kubelet may write anything.
 */
import type {
  CoreV1Event,
  V1ConfigMap,
  V1DeleteOptions,
  V1Eviction,
  V1Lease,
  V1LeaseSpec,
  V1Node,
  V1NodeCondition,
  V1NodeStatus,
  V1ObjectMeta,
  V1Pod,
  V1PodCondition,
  V1Taint,
} from "@kubernetes/client-node";

/** An object as JSON has it: an instant is text, and undefined is left out. */
export type Json<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? readonly Json<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Json<T[K]> | (undefined extends T[K] ? undefined : never) }
      : T;

/**
 * Part of an object, for a merge patch or a strategic one: null removes a field, and an element of a list may have some
 * of its fields alone, because a strategic patch merges it by its key.
 */
export type Patch<T> = T extends readonly (infer E)[]
  ? readonly Patch<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Patch<T[K]> | null }
    : T;

type FullObject<T> = Json<T> & { readonly apiVersion: string; readonly kind: string };

/** A Node to create. */
export type NodeBody = Json<V1Node>;
/** Some fields of a node's status; undefined for those that it has no more. */
export type NodeStatusFields = Patch<Json<V1NodeStatus>>;
/** The changed fields of a Node. */
export type NodePatch = Patch<Json<V1Node>>;
/** A taint as it is written. */
export type TaintBody = Json<V1Taint>;
/** The changed fields of the status of a Pod, with the order of its conditions as a strategic patch may name it. */
export type PodStatusPatch = Patch<Json<V1Pod>>["status"] & {
  readonly "$setElementOrder/conditions"?: readonly { readonly type: unknown }[];
};
/** The changed fields of one condition of a node or a pod. */
export type ConditionPatch = Patch<Json<V1NodeCondition & V1PodCondition>> & { readonly type: string };
/** The objects that an object belongs to. */
export type OwnerReferences = Json<NonNullable<V1ObjectMeta["ownerReferences"]>>;

/** An Event to create. */
export type EventBody = FullObject<CoreV1Event>;
/** The changed fields of an Event. */
export type EventPatch = Patch<Json<CoreV1Event>>;
/** A Lease to create or replace. */
export type LeaseBody = FullObject<V1Lease>;
/** The fields of a Lease's record that are set. */
export type LeaseSpecFields = Json<V1LeaseSpec>;
/** The changed fields of a Lease. */
export type LeasePatch = Patch<Json<V1Lease>>;
/** A ConfigMap to create. */
export type ConfigMapBody = FullObject<V1ConfigMap>;
/** The changed fields of a ConfigMap. */
export type ConfigMapPatch = Patch<Json<V1ConfigMap>>;
/** An Eviction. */
export type EvictionBody = FullObject<V1Eviction>;
/** The options of a deletion. */
export type DeleteOptionsBody = FullObject<V1DeleteOptions>;
