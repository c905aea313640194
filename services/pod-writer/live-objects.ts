/** What an attempt makes of an object it has read live: a node, or the reason why the attempt ends, and a pod. Pure. */
import type { ObservedNode } from "../../protocols/objects.ts";
import type { KubeObject, Policies, ReadReply, ShownReply } from "../../protocols/ports.ts";
import { policyOf } from "../domain/node-policy.ts";
import { type LiveNode, liveNode, projectPod, UNREPORTED } from "../platform/kube/watch/projection.ts";
import type { LiveRead } from "../platform/requests/single-flight-reads.ts";
import { type TryResult, unread, unwritten } from "../platform/requests/write-jobs.ts";
import type { LivePod } from "./pod-writer.policy.ts";

/** Projects a node's read once for all its pods, and again after the policies have changed. */
export function nodeReader(policies: Pick<Policies, "current">): (reply: ReadReply) => NodeRead {
  return (reply) => nodeReadOf(reply, policies);
}

/** What a live read of a node found: its state, or how an attempt ends without it. */
export type NodeRead =
  | { readonly kind: "read"; readonly node: LiveNode }
  | { readonly kind: "unread"; readonly result: TryResult };

function nodeReadOf(reply: ReadReply, policies: Pick<Policies, "current">): NodeRead {
  if (reply.outcome === "gone") {
    return { kind: "unread", result: unwritten("refused", "its node is gone; the pod garbage collector deletes it") };
  }
  if (reply.outcome !== "ok") return { kind: "unread", result: unread("node", reply) };
  const node = liveNode(reply.object, policies);
  if (node !== null) return { kind: "read", node };
  return { kind: "unread", result: unwritten("failed", "the node as read is not a valid Node") };
}

/**
 * A node as a proven watch shows it; null if the watch lacks labels that the present policies select by. Each later use
 * of it reads the watch again.
 */
export function shownNode(
  { object, view }: ShownReply<ObservedNode>,
  policies: Pick<Policies, "current">,
): LiveRead<NodeRead> | null {
  if (policyOf(object, policies.current()).kind === "unknown") return null;
  const { sentAtMs, readAtMs } = view;
  return { found: { kind: "read", node: () => view.held("", object.node) ?? object }, sentAtMs, readAtMs };
}

/** A pod as the API sent it; null if it is bound to no node. */
export function livePod(object: KubeObject): LivePod | null {
  const bound = projectPod(object, UNREPORTED);
  return bound === null ? null : { ...bound, object };
}
