/**
 * Every message of the protocol in one table: schema, key, shard, senders and receivers. wire.ts encodes and decodes
 * frames.
 */
import type { z } from "zod";
import {
  askedCondition,
  askedDrain,
  askedEviction,
  askedLabel,
  askedResync,
  askedTaint,
  askedUnready,
} from "./asked.ts";
import { doneWrite } from "./done.ts";
import {
  judgedEvictions,
  judgedLease,
  judgedLimits,
  judgedMemory,
  judgedNode,
  judgedPod,
  judgedPolicies,
  judgedPolicy,
  judgedRemediations,
  judgedZone,
} from "./judged.ts";
import { observedGone, observedLease, observedNode, observedPods, observedPulse } from "./observed.ts";
import { pulseMember } from "./pulse.ts";
import { shardOf } from "./subjects.ts";

/** How one message type is addressed and checked. */
export interface MessageDefinition<S extends z.ZodType> {
  readonly schema: S;
  /** Names of the key's tokens, in order; empty when the shard alone is the key. */
  readonly keyNames: readonly string[];
  readonly key: (body: z.infer<S>) => readonly string[];
  readonly shard: (body: z.infer<S>) => number;
  readonly from: string;
  /** The member that alone may send this message. */
  readonly publishedBy?: (body: z.infer<S>) => string;
  readonly to: string;
  readonly purpose: string;
}

const define = <S extends z.ZodType>(definition: MessageDefinition<S>): MessageDefinition<S> => definition;

const byNode = {
  keyNames: ["node"],
  key: (body: { node: string }) => [body.node],
  shard: (body: { node: string }) => shardOf(body.node),
};
const byPod = {
  keyNames: ["namespace", "name"],
  key: (body: { namespace: string; name: string }) => [body.namespace, body.name],
  shard: (body: { node: string }) => shardOf(body.node),
};
const byShard = { keyNames: [], key: () => [], shard: (body: { shard: number }) => body.shard };

/** Readers of a message that every process needs. */
const EVERY_SERVICE = "observer, node, zone, taint-manager, node-writer, pod-writer, ledger, policy";

/** The table of messages, by type. */
export const MESSAGES = {
  "observed.node": define({
    schema: observedNode,
    ...byNode,
    from: "observer",
    to: EVERY_SERVICE,
    purpose: "a node's observed state",
  }),
  "observed.lease": define({
    schema: observedLease,
    ...byShard,
    from: "observer",
    to: "observer, node, ledger",
    purpose: "heartbeats of a shard, coalesced",
  }),
  "observed.pods": define({
    schema: observedPods,
    ...byNode,
    from: "observer",
    to: "observer, taint-manager, node, node-writer, pod-writer, ledger",
    purpose: "the pods bound to a node of interest",
  }),
  "observed.gone": define({
    schema: observedGone,
    ...byNode,
    from: "observer",
    to: EVERY_SERVICE,
    purpose: "a node left the API",
  }),
  "observed.pulse": define({
    schema: observedPulse,
    ...byShard,
    from: "observer",
    to: "observer, node, zone, taint-manager, pod-writer, ledger, policy, console",
    purpose: "the state of the watches, and a digest of what was published of a shard",
  }),
  "judged.memory": define({
    schema: judgedMemory,
    keyNames: ["policy"],
    key: (body) => [body.policy],
    shard: () => 0,
    from: "policy",
    to: "zone",
    purpose: "what is stored about the limits of a policy, for their next owner",
  }),
  "judged.node": define({
    schema: judgedNode,
    ...byNode,
    from: "node",
    to: "zone, pod-writer, ledger, policy",
    purpose: "a node's readiness and eviction status",
  }),
  "judged.zone": define({
    schema: judgedZone,
    keyNames: ["zone"],
    key: (body) => [body.zone],
    shard: (body) => shardOf(body.zone),
    from: "zone",
    to: "zone, node, policy, ledger",
    purpose: "a zone's disruption state and eviction rate",
  }),
  "judged.pod": define({
    schema: judgedPod,
    ...byPod,
    from: "taint-manager",
    to: "pod-writer, taint-manager, ledger",
    purpose: "a pod's eviction and what decided it",
  }),
  "judged.policy": define({
    schema: judgedPolicy,
    keyNames: ["policy"],
    key: (body) => [body.policy],
    shard: () => 0,
    from: "policy",
    to: EVERY_SERVICE,
    purpose: "a node policy",
  }),
  "judged.policies": define({
    schema: judgedPolicies,
    keyNames: [],
    key: () => [],
    shard: () => 0,
    from: "policy",
    to: EVERY_SERVICE,
    purpose: "which node policies there are, in which versions",
  }),
  "judged.limits": define({
    schema: judgedLimits,
    keyNames: ["policy"],
    key: (body) => [body.policy],
    shard: () => 0,
    from: "zone",
    to: "node, zone, pod-writer, policy, ledger",
    purpose: "which nodes of a policy its limits admit for eviction, and why not the others",
  }),
  "judged.lease": define({
    schema: judgedLease,
    keyNames: [],
    key: () => [],
    shard: () => 0,
    from: "pod-writer",
    to: "zone",
    purpose: "whether this side of a bus that may be split permits nodes under limits",
  }),
  "judged.evictions": define({
    schema: judgedEvictions,
    keyNames: ["policy"],
    key: (body) => [body.policy],
    shard: () => 0,
    from: "pod-writer",
    to: "pod-writer, ledger",
    purpose: "which pods the rate of evictions of a policy lets go now, and which wait for it",
  }),
  "judged.remediations": define({
    schema: judgedRemediations,
    keyNames: ["policy"],
    key: (body) => [body.policy],
    shard: () => 0,
    from: "policy",
    to: "ledger",
    purpose: "how far the remediations of the unhealthy nodes of a policy are",
  }),
  "asked.condition": define({
    schema: askedCondition,
    ...byNode,
    from: "node",
    to: "node-writer, ledger",
    purpose: "force conditions on a silent node",
  }),
  "asked.taint": define({
    schema: askedTaint,
    ...byNode,
    from: "node, zone",
    to: "node-writer, zone, ledger",
    purpose: "taints on and off a node, in one patch",
  }),
  "asked.label": define({
    schema: askedLabel,
    ...byNode,
    from: "node, taint-manager",
    to: "node-writer, ledger",
    purpose: "labels and annotations on a node",
  }),
  "asked.eviction": define({
    schema: askedEviction,
    ...byPod,
    from: "taint-manager, node",
    to: "pod-writer, ledger",
    purpose: "delete a pod whose deadline has come",
  }),
  "asked.unready": define({
    schema: askedUnready,
    ...byPod,
    from: "node",
    to: "pod-writer, ledger",
    purpose: "set a pod's Ready condition to False",
  }),
  "asked.drain": define({
    schema: askedDrain,
    ...byNode,
    from: "zone",
    to: "node, zone, ledger",
    purpose: "drain a node, now that its zone admits it (direct mode)",
  }),
  "asked.resync": define({
    schema: askedResync,
    ...byShard,
    from: "node, zone, taint-manager, pod-writer, ledger, policy",
    to: "observer, node, taint-manager",
    purpose: "publish everything about a shard again",
  }),
  "done.write": define({
    schema: doneWrite,
    keyNames: ["namespace", "name"],
    key: (body) => [body.namespace, body.name],
    shard: (body) => shardOf(body.node),
    from: "node-writer, pod-writer",
    to: "ledger, observer, node, zone, taint-manager, node-writer, pod-writer",
    purpose: "the outcome of a request",
  }),
  "pulse.member": define({
    schema: pulseMember,
    keyNames: ["member"],
    key: (body) => [body.member],
    shard: () => 0,
    from: "any",
    publishedBy: (body) => body.member,
    to: "fleet, ledger, policy",
    purpose: "a process is alive, or leaves",
  }),
} as const;

/** The name of a message type, `kind.noun`. */
export type MessageType = keyof typeof MESSAGES;

/** The body of a message type. */
export type BodyOf<T extends MessageType> = z.infer<(typeof MESSAGES)[T]["schema"]>;

/** A decoded message: its frame with a checked body. */
export interface Message<T extends MessageType = MessageType> {
  readonly type: T;
  readonly id: string;
  readonly source: string;
  /** The sender's wall clock, epoch milliseconds. */
  readonly at: number;
  readonly cause: string | null;
  readonly body: BodyOf<T>;
}

/** A decoded message of any type, discriminated by `type`. */
export type AnyMessage = { [T in MessageType]: Message<T> }[MessageType];

/** Whether a text names a message type. */
export function isMessageType(text: string): text is MessageType {
  return Object.hasOwn(MESSAGES, text);
}
