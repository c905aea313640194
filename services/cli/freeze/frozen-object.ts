/**
 * Where `vigil freeze` writes: the NodePolicy itself, or the ConfigMap kube-system/vigil-freeze for all nodes and for a
 * policy of --config. It needs the API server alone, so it works without NATS and whatever Vigil is doing.
 */

import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { type Kube, type KubeObject, type ObjectRef, Urgency, type WriteReply } from "../../../protocols/ports.ts";
import { freezesAsWritten } from "../../domain/freeze.ts";
import type { ConfigMapPatch } from "../../platform/kube/write/sent-bodies.ts";
import { listOf, parsed, recordOf, textOf } from "../../structures/json.ts";
import { readLive } from "../connect/api-connection.ts";
import { Failure } from "../verb.ts";
import { requestsIn, type WrittenRequest } from "./pause-requests.policy.ts";

/** Changes the requests of an object, which policies share or which is one; returns null to leave it as it is. */
export type ChangeRequests = (
  requests: readonly WrittenRequest[],
  isShared: boolean,
) => readonly WrittenRequest[] | null;

/** How often a change is tried while others change the object too. */
const TRIES_MAX = 5;

/** The object with the pause requests of a policy, or of all nodes; `object` is null while it does not exist. */
export interface FrozenObject {
  readonly ref: ObjectRef;
  readonly object: KubeObject | null;
}

/** Finds the object for a policy; null is for all nodes. Throws a Failure. */
async function frozenObject(kube: Kube, policy: string | null): Promise<FrozenObject> {
  if (policy !== null) {
    const ref: ObjectRef = { kind: "NodePolicy", namespace: "", name: policy };
    const reply = await readLive(kube, ref);
    if (reply.outcome === "ok") return { ref, object: reply.object };
    // Without the CustomResourceDefinition the path itself is unknown, which is no Status.
    if (reply.outcome !== "gone" && !reply.detail.startsWith("404")) throw new Failure(reply.detail);
  }
  const reply = await readLive(kube, FREEZE_CONFIG_MAP);
  if (reply.outcome !== "ok" && reply.outcome !== "gone") throw new Failure(reply.detail);
  return { ref: FREEZE_CONFIG_MAP, object: reply.outcome === "ok" ? reply.object : null };
}

/** The object with the requests to change. */
export interface RequestsObject {
  readonly name: string;
  /** Whether it is the ConfigMap, because there is no such NodePolicy, or for all nodes. */
  readonly isShared: boolean;
  /** The mode of a NodePolicy that freezes its nodes, whatever the requests; null for any other object. */
  readonly freezingMode: string | null;
  /** Whether it is a NodePolicy that applies to no node, as its condition Ready says. */
  readonly isRefused: boolean;
}

/** Changes the requests of the object for a policy, or for all nodes. Throws a Failure. */
export async function changeRequests(
  kube: Kube,
  policy: string | null,
  change: ChangeRequests,
): Promise<RequestsObject> {
  let problem = "";
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const found = await frozenObject(kube, policy);
    const isShared = found.ref.kind === FREEZE_CONFIG_MAP.kind;
    const requests = change(requestsOf(found), isShared);
    if (requests === null) return changed(found);
    const reply = await write(kube, found, requests);
    if (reply.outcome === "ok") return changed(found);
    problem = reply.detail;
    if (reply.outcome !== "conflict" && reply.outcome !== "exists") break;
  }
  throw new Failure(problem);
}

function changed(found: FrozenObject): RequestsObject {
  const isShared = found.ref.kind === FREEZE_CONFIG_MAP.kind;
  const mode = isShared ? undefined : recordOf(found.object?.spec).mode;
  const conditions = isShared ? [] : listOf(recordOf(found.object?.status).conditions).map(recordOf);
  const isRefused = conditions.some(({ type, status }) => type === "Ready" && status === "False");
  return { name: nameOf(found), isShared, freezingMode: freezesAsWritten(mode) ? String(mode) : null, isRefused };
}

function nameOf({ ref }: Pick<FrozenObject, "ref">): string {
  return ref.kind === FREEZE_CONFIG_MAP.kind ? `${ref.kind} ${ref.namespace}/${ref.name}` : `${ref.kind} ${ref.name}`;
}

function requestsOf({ ref, object }: FrozenObject): WrittenRequest[] {
  if (ref.kind !== FREEZE_CONFIG_MAP.kind) return requestsIn(recordOf(object?.spec).pauseRequests);
  const written = parsed(textOf(recordOf(object?.data).pauseRequests) ?? "[]");
  if (Array.isArray(written)) return requestsIn(written);
  // Another list in its place would thaw what it may freeze.
  throw new Failure(
    `${nameOf({ ref })}: data.pauseRequests: is no JSON list; correct it with kubectl edit, or write []`,
  );
}

function write(
  kube: Kube,
  { ref, object }: FrozenObject,
  requests: readonly WrittenRequest[],
): Promise<Exclude<WriteReply, { outcome: "ok" }> | { readonly outcome: "ok" }> {
  const isConfigMap = ref.kind === FREEZE_CONFIG_MAP.kind;
  const change = isConfigMap
    ? ({ data: { pauseRequests: JSON.stringify(requests) } } satisfies ConfigMapPatch)
    : { spec: { pauseRequests: requests } };
  const target = { ref, urgency: Urgency.healing };
  return new Promise((resolve) => {
    if (object === null) {
      const metadata = { namespace: ref.namespace, name: ref.name };
      kube.write(
        { ...target, verb: "create", body: { apiVersion: "v1", kind: ref.kind, metadata, ...change } },
        resolve,
      );
    } else {
      const body = { metadata: { resourceVersion: object.metadata.resourceVersion }, ...change };
      kube.write({ ...target, verb: "patch", patch: "merge", body }, resolve);
    }
  });
}
