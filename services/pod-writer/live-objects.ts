/** What an attempt makes of an object it has read live: a node, or the reason why the attempt ends, and a pod. Pure. */
import type { KubeObject, Policies, ReadReply } from "../../protocols/ports.ts";
import { type LiveNode, liveNode } from "../platform/kube/watch/live-node.ts";
import { projectPod, UNREPORTED } from "../platform/kube/watch/projection.ts";
import type { TryResult } from "../platform/requests/write-jobs.ts";
import { unread, unwritten } from "../platform/requests/write-result.ts";
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

/** A pod as the API sent it; null if it is bound to no node. */
export function livePod(object: KubeObject): LivePod | null {
  const bound = projectPod(object, UNREPORTED);
  return bound === null ? null : { ...bound, object };
}
