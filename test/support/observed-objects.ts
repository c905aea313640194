/** Complete nodes, pods and judgements for tests, with overrides. They are never sent anywhere. */
import type { BodyOf } from "../../protocols/messages.ts";
import { TaintEffect } from "../../protocols/names.ts";
import type { ConditionStatus, ObservedNode, ObservedPod, Taint } from "../../protocols/objects.ts";

/** A node with a Ready condition of this status; null for none. */
export function observedNode(
  node: string,
  {
    ready = "True" as ConditionStatus | null,
    ...rest
  }: Partial<ObservedNode> & { ready?: ConditionStatus | null } = {},
): ObservedNode {
  const condition = { type: "Ready", status: ready ?? "Unknown", heartbeatAt: 0, transitionAt: 0 };
  return {
    node,
    uid: `uid-${node}`,
    resourceVersion: "1",
    createdAt: 0,
    labels: {},
    unschedulable: false,
    taints: [],
    conditions: ready === null ? [] : [condition],
    ...rest,
  };
}

/** A running pod, bound at the epoch, that tolerates nothing. */
export function observedPod(name: string, rest: Partial<ObservedPod> = {}): ObservedPod {
  return {
    namespace: "default",
    name,
    uid: `uid-${name}`,
    phase: "Running",
    ready: "True",
    tolerations: [],
    owner: null,
    createdAt: 0,
    boundAt: 0,
    deletionAt: null,
    ...rest,
  };
}

/** A judgement of a node that is ready and in no zone. */
export function judgedNode(node: string, rest: Partial<BodyOf<"judged.node">> = {}): BodyOf<"judged.node"> {
  return {
    node,
    uid: `uid-${node}`,
    resourceVersion: "1",
    readiness: "ready",
    ready: "True",
    since: 0,
    heartbeatAt: 0,
    eviction: "unmarked",
    zone: "",
    counted: true,
    ...rest,
  };
}

/** A NoExecute taint. */
export function noExecute(key: string, rest: Partial<Taint> = {}): Taint {
  return { key, effect: TaintEffect.noExecute, ...rest };
}

/** A reader's knowledge of the time before it followed a node: none. */
export const NOT_SEEN_BEFORE = { absentMs: Number.NEGATIVE_INFINITY, isUnbroken: true } as const;
