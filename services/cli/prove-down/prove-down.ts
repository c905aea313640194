/**
 * Records on a Node that its machine is off, or removes that record. Every attempt reads the node and its lease live.
 */
import type { ConditionStatus, DownProof, ObservedNode } from "../../../protocols/objects.ts";
import { type Kube, type KubeObject, type ObjectRef, Urgency, type WriteReply } from "../../../protocols/ports.ts";
import { API_TIME_STEP_MS } from "../../domain/api-time.ts";
import { downProofText } from "../../domain/down-proof.ts";
import { spanText } from "../../domain/format.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { provableFrom } from "../../domain/out-of-service.ts";
import { proofMetadata } from "../../platform/kube/proof-seal.ts";
import { projectNode, UNREPORTED } from "../../platform/kube/watch/projection.ts";
import type { NodePatch } from "../../platform/kube/write/sent-bodies.ts";
import { leaseRenewal, readLive } from "../connect/api-connection.ts";
import { Failure } from "../verb.ts";

/** How often it is tried while others change the node too. */
const TRIES_MAX = 5;

/** The user that reports a node as off, and the reason. */
export interface ProofAuthor extends Pick<DownProof, "by" | "reason"> {
  /** How recent a renewal of its lease shows that the node is alive, in milliseconds. */
  readonly graceMs: number;
}

/** What the reads and the write go through; the clock is the API server's. */
export interface ProofIo {
  readonly kube: Pick<Kube, "read" | "write">;
  readonly nowAt: () => number;
}

/** Records the proof. Throws a Failure for a node that may be alive, and where it cannot be read or written. */
export function proveDown(io: ProofIo, name: string, { by, reason, graceMs }: ProofAuthor): Promise<DownProof> {
  return changeAnnotation(io, name, async (node) => {
    // A lease that may not be read may be fresh, so nothing is proved then.
    const leaseRenewedAt = await leaseRenewal(io.kube, name);
    const nowAt = io.nowAt();
    const from = provableFrom(node);
    const ready = readyConditionOf(node)?.status ?? null;
    const refusal = proofRefusal({ name, ready, provableFrom: from, leaseRenewedAt }, graceMs, nowAt);
    if (refusal !== null) throw new Failure(refusal);
    const proof: DownProof = { proof: "Manual", by, at: provedAt(from, nowAt), reason };
    return { text: downProofText(proof), result: proof };
  });
}

/** Removes the proof of a node. Returns whether there was one. */
export function withdrawProof(io: ProofIo, name: string): Promise<boolean> {
  return changeAnnotation(io, name, async ({ provedDown }) => ({ text: null, result: provedDown !== undefined }));
}

interface Change<R> {
  readonly text: string | null;
  readonly result: R;
}

/** Changes the annotation of the node as it was read: if it changes meanwhile, it is read again. */
async function changeAnnotation<R>(
  { kube }: ProofIo,
  name: string,
  decide: (node: ObservedNode) => Promise<Change<R>>,
): Promise<R> {
  const ref: ObjectRef = { kind: "Node", namespace: "", name };
  let problem = "";
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const object = await readNode(kube, ref);
    const node = projectNode(object, UNREPORTED);
    if (node === null) throw new Failure(`node ${name} as read is not a valid Node`);
    const { text, result } = await decide(node);
    const reply = await write(kube, ref, {
      metadata: {
        uid: node.uid,
        resourceVersion: node.resourceVersion,
        ...proofMetadata(text),
      },
    });
    if (reply.outcome === "ok") return result;
    problem = reply.detail;
    if (reply.outcome !== "conflict") break;
  }
  throw new Failure(`cannot write node ${name}: ${problem}`);
}

async function readNode(kube: ProofIo["kube"], ref: ObjectRef): Promise<KubeObject> {
  const reply = await readLive(kube, ref);
  if (reply.outcome === "ok") return reply.object;
  throw new Failure(
    reply.outcome === "gone" ? `node ${ref.name}: not found` : `cannot read node ${ref.name}: ${reply.detail}`,
  );
}

function write(
  kube: ProofIo["kube"],
  ref: ObjectRef,
  body: NodePatch,
): Promise<Exclude<WriteReply, { outcome: "ok" }> | { readonly outcome: "ok" }> {
  return new Promise((resolve) =>
    kube.write({ ref, urgency: Urgency.healing, verb: "patch", patch: "merge", body }, resolve),
  );
}

/** What live reads show of a node. Instants are epoch milliseconds of the API server's clock. */
export interface LiveNode {
  readonly name: string;
  readonly ready: ConditionStatus | null;
  /** From when a proof of its silence counts; null while the API does not show it as silent. */
  readonly provableFrom: number | null;
  /** When its kubelet renewed its lease last; null without a lease. */
  readonly leaseRenewedAt: number | null;
}

/** Why a node is not proved to be down, in one line; null if it may be. */
export function proofRefusal(live: LiveNode, graceMs: number, nowAt: number): string | null {
  const { name, ready, provableFrom, leaseRenewedAt } = live;
  if (ready === "True") return `node ${name} is alive: its Ready condition is True`;
  const renewedMs = leaseRenewedAt === null ? Number.POSITIVE_INFINITY : nowAt - leaseRenewedAt;
  if (renewedMs < graceMs) {
    const ago = renewedMs < 0 ? "just now" : `${spanText(renewedMs)} ago`;
    return `node ${name} is alive: its kubelet renewed its lease ${ago}, within its grace of ${spanText(graceMs)}`;
  }
  if (provableFrom !== null) return null;
  const shown = ready === null ? "it has no Ready condition" : `its Ready condition is ${ready}`;
  const fix = "try again once it is Unknown, because an older proof does not count";
  return `node ${name} is not found silent yet: ${shown}; ${fix}`;
}

/**
 * The instant of a proof: later than the silence that the reads have shown. Stamps of the API are whole seconds, so a
 * proof in the same second could look older than the silence.
 */
export function provedAt(provableFrom: number | null, nowAt: number): number {
  return Math.min(Math.max(nowAt, provableFrom ?? nowAt), nowAt + API_TIME_STEP_MS);
}
