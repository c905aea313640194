/** Which Kubernetes Events follow from a message and the cluster state before it (R2.9 to R8.25, docs/events.md). */
import type { AnyMessage, BodyOf, Message } from "../../../protocols/messages.ts";
import { EventSource } from "../../../protocols/names.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { taintName } from "../../domain/toleration.ts";
import type { InvolvedObject, Occurrence } from "../../platform/kube/events/event-correlator.ts";
import { type ByType, dispatch } from "../by-type.ts";
import type { ClusterState, NodeRecord } from "../state/cluster-state.ts";
import { isFirstDeletion } from "../state/pod-records.ts";

const EventReason = {
  registered: "RegisteredNode",
  removing: "RemovingNode",
  notReady: "NodeNotReady",
  deletingAll: "DeletingAllPods",
  directEviction: "NodeControllerEviction",
  taintEviction: "TaintManagerEviction",
} as const;

/** An occurrence, and what it marks as reported on the record of its node. */
export interface EventToWrite extends Occurrence {
  readonly marks?: "silenceReported" | "drainReported";
}

type Events = readonly EventToWrite[];

const NONE: Events = [];

const EVENTS: ByType<[before: ClusterState], Events> = {
  "observed.node": ({ body }, before) => eventsOfNode(body, before),
  "observed.gone": ({ body }, before) => eventsOfDeparture(body, before.nodes.get(body.node)),
  "judged.pod": ({ body }, before) => eventsOfPod(body, before),
  "done.write": (message, before) => eventsOfWrite(message, before),
};

/**
 * The Events that follow from a message, given the state before it. Beside upstream only Vigil's own writes have
 * Events, because upstream reports nodes that come and go, and its evictions.
 */
export function eventsOf(message: AnyMessage, before: ClusterState, upstream: Profile["upstream"]): Events {
  if (upstream === "beside" && message.type !== "done.write") return NONE;
  return dispatch(EVENTS, message, before) ?? NONE;
}

/** The source component of an Event at an API server of this version, as upstream's is there (D5); null for unknown. */
export function sourceAt(minorVersion: number | null, component: string): string {
  const isEarlier = minorVersion !== null && minorVersion < 29;
  return isEarlier && component === EventSource.taint ? EventSource.taintBefore29 : component;
}

/** R2.9: registers a new node and removes one of another uid. Nodes that older ledgers have registered are left out. */
function eventsOfNode({ node, uid, createdAt }: BodyOf<"observed.node">, before: ClusterState): Events {
  const known = before.nodes.get(node);
  if (known?.observed && known.uid === uid) return NONE;
  const isReported = before.joinedAt !== null && createdAt < before.joinedAt;
  const registered = onNode(node, uid, EventReason.registered, `Registered Node ${node} in Controller`);
  return [...(known?.observed ? [removing(node, known.uid)] : []), ...(isReported ? [] : [registered])];
}

/** R2.10, with the uid of the known node. */
function eventsOfDeparture({ node, uid }: BodyOf<"observed.gone">, before: NodeRecord | undefined): Events {
  return before?.observed && before.uid === uid ? [removing(node, uid)] : NONE;
}

/** A countdown that ran is cancelled; not once the deletion has been requested (L28). */
function eventsOfPod(body: BodyOf<"judged.pod">, before: ClusterState): Events {
  const pod = before.pods.get(body.uid);
  if (body.kept === "mirror" && body.taint !== null) {
    const kept = `Keeping Pod ${body.namespace}/${body.name} despite ${taintName(body.taint)}: it mirrors a static pod`;
    return [onPod(body, EventReason.taintEviction, "Warning", kept, EventSource.taint)];
  }
  if (body.eviction !== "none" || pod?.judged?.eviction !== "pending") return NONE;
  if (pod.asked !== null || pod.order !== "none") return NONE;
  const message = `Cancelling deletion of Pod ${body.namespace}/${body.name}`;
  return [onPod(body, EventReason.taintEviction, "Normal", message, EventSource.taint)];
}

function eventsOfWrite({ cause, body }: Message<"done.write">, before: ClusterState): Events {
  switch (body.ask) {
    case "asked.condition":
      return body.outcome === "ok" ? eventsOfSilence(body, cause, before) : NONE;
    case "asked.unready":
      if (body.outcome !== "ok" || body.change === "") return NONE;
      return [onPod(body, EventReason.notReady, "Warning", "Node is not ready", EventSource.node)];
    case "asked.eviction":
      return eventsOfDeletion(body, cause, before);
    default:
      return NONE;
  }
}

/** R2.26, R2.28: only when Vigil changed Ready from True to Unknown, once per change; not for a withdrawn verdict. */
function eventsOfSilence(body: BodyOf<"done.write">, cause: string | null, before: ClusterState): Events {
  if (body.change === "") return NONE;
  if (before.request(cause)?.ready !== "True" || before.nodes.get(body.node)?.silenceReported) return NONE;
  const message = `Node ${body.node} status is now: NodeNotReady`;
  return [{ ...nodeEvent(body.node, body.uid, EventReason.notReady, message), marks: "silenceReported" }];
}

/** R8.25, R5.15 and R5.16: once the API server has accepted the deletion, and once per pod and drain (L31, L40). */
function eventsOfDeletion(body: BodyOf<"done.write">, cause: string | null, before: ClusterState): Events {
  if (!isFirstDeletion(body, before.pods)) return NONE;
  const request = before.request(cause)?.message.body as BodyOf<"asked.eviction"> | undefined;
  if ((request ?? before.pods.get(body.uid)?.asked)?.mode !== "direct") {
    const message = `Marking for deletion Pod ${body.namespace}/${body.name}`;
    return [onPod(body, EventReason.taintEviction, "Normal", message, EventSource.taint)];
  }
  const message = `Marking for deletion Pod ${body.name} from Node ${body.node}`;
  const marking = onPod(body, EventReason.directEviction, "Normal", message, EventSource.node);
  const node = before.nodes.get(body.node);
  if (node === undefined || node.drainReported) return [marking];
  const all = `Deleting all Pods from Node ${node.name}.`;
  return [{ ...onNode(node.name, node.uid, EventReason.deletingAll, all), marks: "drainReported" }, marking];
}

function removing(name: string, uid: string): EventToWrite {
  return onNode(name, uid, EventReason.removing, `Removing Node ${name} from Controller`);
}

function onNode(name: string, uid: string, reason: string, what: string): EventToWrite {
  return nodeEvent(name, uid, reason, `Node ${name} event: ${what}`);
}

function nodeEvent(name: string, uid: string, reason: string, message: string): EventToWrite {
  const involvedObject: InvolvedObject = { apiVersion: "v1", kind: "Node", namespace: "", name, uid };
  return { involvedObject, reason, type: "Normal", message, component: EventSource.node };
}

function onPod(
  pod: { namespace: string; name: string; uid: string; resourceVersion?: string | null },
  reason: string,
  type: Occurrence["type"],
  message: string,
  component: string,
): EventToWrite {
  const { namespace, name, uid, resourceVersion } = pod;
  const version = resourceVersion ? { resourceVersion } : {};
  const involvedObject: InvolvedObject = { apiVersion: "v1", kind: "Pod", namespace, name, uid, ...version };
  return { involvedObject, reason, type, message, component };
}
