/** Carries out what was decided about one node: live reads of what it rests on, the decision again, one write. */

import { LEASE_NAMESPACE } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { NodePolicy, PolicySet, Remediation } from "../../../protocols/policy-set.ts";
import { type Io, type KubeObject, type ReadReply, Urgency, type WriteReply } from "../../../protocols/ports.ts";
import { apiTime } from "../../domain/api-time.ts";
import { downProofText } from "../../domain/down-proof.ts";
import { nodeFreezeOf } from "../../domain/freeze.ts";
import { policyOf } from "../../domain/node-policy.ts";
import { provableFrom } from "../../domain/out-of-service.ts";
import { proofMetadata } from "../../platform/kube/proof-seal.ts";
import { projectLease, projectNode, UNREPORTED } from "../../platform/kube/watch/projection.ts";
import type { NodePatch } from "../../platform/kube/write/sent-bodies.ts";
import { isProof, liveRefusal, type RemediationAct, type RemediationObject } from "./remediation.policy.ts";
import {
  type RemediationOwner,
  readRemediations,
  remediationBody,
  remediationKind,
  remediationRef,
  remediationsRef,
  timeOutPatch,
} from "./remediation-object.policy.ts";

/** What is to be done about a node, and what was read for it. */
export interface RemediationJob {
  readonly act: RemediationAct;
  readonly node: ObservedNode;
  readonly policy: Pick<NodePolicy, "name" | "nodeMonitorGraceMs" | "outOfService">;
  readonly step: Remediation;
  readonly template: KubeObject | null;
  readonly owner: RemediationOwner;
  /** All policies when it was decided. */
  readonly policies: PolicySet | null;
}

/** The result: the outcome of the write, or why nothing was written. */
export type RemediationResult =
  | { readonly kind: "written"; readonly reply: WriteReply }
  | { readonly kind: "left"; readonly detail: string };

type ProofJob = RemediationJob & Pick<Live, "readAtMs">;

type Done = (result: RemediationResult) => void;

/** Does one job. Nothing is written for a node that differs from what was decided. */
export function actOn(io: Io, job: RemediationJob, done: Done): void {
  const name = job.node.node;
  const left = (detail: string): void => done({ kind: "left", detail });
  io.kube.read({ kind: "Node", namespace: "", name }, (reply) => {
    if (reply.outcome === "gone" && job.act.kind === "delete") {
      deleteObject(io, job.step, job.act.object, done);
      return;
    }
    const node = reply.outcome === "ok" ? projectNode(reply.object, projectionOf(io)) : null;
    const read = { lease: null, readAtMs: io.clock.monotonicMs() };
    if (node === null) left(problemOf("node", reply));
    else if (job.act.kind === "delete" || job.act.kind === "timeOut") decide(io, job, { ...read, node }, done);
    else readLease(io, job, { ...read, node }, done);
  });
}

/** Deletes the object of a node that the API no longer has; a live read that finds the node leaves it. */
export function deleteOrphan(io: Io, step: Remediation, object: RemediationObject, done: Done): void {
  io.kube.read({ kind: "Node", namespace: "", name: object.name }, (reply) => {
    if (reply.outcome === "gone") deleteObject(io, step, object, done);
    else done({ kind: "left", detail: problemOf("node", reply) });
  });
}

function projectionOf(io: Io): Parameters<typeof projectNode>[1] {
  return { ...UNREPORTED, policyKeys: () => io.policies.current() };
}

interface Live {
  readonly node: ObservedNode;
  readonly lease: number | null;
  /** When the node, which is read first, was answered. */
  readonly readAtMs: number;
}

function readLease(io: Io, job: RemediationJob, live: Live, done: Done): void {
  io.kube.read({ kind: "Lease", namespace: LEASE_NAMESPACE, name: live.node.node }, (reply) => {
    if (reply.outcome !== "ok" && reply.outcome !== "gone") {
      done({ kind: "left", detail: problemOf("lease", reply) });
      return;
    }
    const lease = reply.outcome === "ok" ? (projectLease(reply.object, UNREPORTED)?.renewedAt ?? null) : null;
    decide(io, job, { ...live, lease }, done);
  });
}

function decide(io: Io, job: RemediationJob, live: Live, done: Done): void {
  const { node, lease, readAtMs } = live;
  const { act, policy } = job;
  const wallMs = io.clock.wallMs();
  const graceMs = policy.nodeMonitorGraceMs ?? io.profile.nodeMonitorGraceMs;
  const frozenBy = nodeFreezeOf(node, io.policies.current(), wallMs).freeze?.field ?? null;
  const reads = { node, frozenBy, leaseRenewedAt: lease, graceMs, wallMs };
  const detail = liveRefusal(act, reads, job.node.uid);
  // The next round decides by the policies that came meanwhile. A deletion heals, whatever they are.
  const isOutdated = act.kind !== "delete" && !hasSamePolicy(io, job, node);
  if (detail !== null) done({ kind: "left", detail });
  else if (isOutdated) done({ kind: "left", detail: "the policies or that of the node have changed since" });
  else if (!("object" in act)) create(io, job, readAtMs, done);
  else if (act.kind === "timeOut") timeOut(io, job, act.object, done);
  else if (act.kind === "delete") deleteObject(io, job.step, act.object, done, node.node);
  else prove(io, { ...job, node, readAtMs }, act.object, done);
}

/** Whether a live node has the policy that the decision is based on, and that policy is still the present one. */
function hasSamePolicy(io: Io, { policies, policy }: RemediationJob, node: ObservedNode): boolean {
  const current = io.policies.current();
  const resolved = policyOf(node, current);
  return current === policies && resolved.kind === "policy" && resolved.policy.name === policy.name;
}

function create(io: Io, { act, step, node, template, owner }: RemediationJob, readAtMs: number, done: Done): void {
  const body = template === null ? null : remediationBody(step.template, template, node.node, owner);
  if (body === null) {
    done({ kind: "left", detail: "the template has no spec.template.spec" });
    return;
  }
  const ref = remediationRef(step.template, node.node, node.node);
  const dryRun = act.kind === "dryRun" ? ({ isDryRun: true } as const) : {};
  io.kube.write({ verb: "create", ref, urgency: Urgency.eviction, body, readAtMs, ...dryRun }, written(done));
}

function timeOut(io: Io, { step, node }: RemediationJob, object: RemediationObject, done: Done): void {
  const ref = remediationRef(step.template, node.node, node.node);
  const bodyAtSend = () => timeOutPatch(object, apiTime(io.clock.wallMs()));
  io.kube.write({ verb: "patch", patch: "merge", ref, urgency: Urgency.eviction, bodyAtSend }, written(done));
}

function deleteObject(io: Io, step: Remediation, object: RemediationObject, done: Done, node?: string): void {
  const ref = remediationRef(step.template, object.name, node);
  io.kube.write({ verb: "delete", ref, urgency: Urgency.healing, uid: object.uid }, written(done));
}

/**
 * Reads the object again, because its success may have been withdrawn since the round began, and then records it on the
 * node as that was read, so a change meanwhile ends in a conflict.
 */
function prove(io: Io, job: ProofJob, object: RemediationObject, done: Done): void {
  const { policy, step, node, readAtMs } = job;
  io.kube.read(remediationsRef(step.template), (reply) => {
    const present = reply.outcome === "ok" ? readRemediations(reply.object).get(object.name) : undefined;
    if (reply.outcome !== "ok") {
      done({ kind: "left", detail: problemOf("remediation", reply) });
      return;
    }
    if (present?.uid !== object.uid || present.succeeded !== "True") {
      done({ kind: "left", detail: "its success was withdrawn since" });
      return;
    }
    if (!isProof(present, { node, outOfService: policy.outOfService })) {
      done({ kind: "left", detail: "the node has stopped sending heartbeats again since" });
      return;
    }
    const body = proofPatch(job, object, Math.max(io.clock.wallMs(), provableFrom(node) ?? 0));
    const ref = { kind: "Node", namespace: "", name: node.node } as const;
    io.kube.write({ verb: "patch", patch: "merge", ref, urgency: Urgency.taint, body, readAtMs }, written(done));
  });
}

function proofPatch({ policy, step, node }: ProofJob, object: RemediationObject, at: number): NodePatch {
  const by = `${remediationKind(step.template)} ${step.template.namespace}/${object.name}`;
  const reason = `its condition Succeeded is True, by NodePolicy ${policy.name}`;
  const text = downProofText({ proof: "RemediationSucceeded", by, at, reason });
  const { uid, resourceVersion } = node;
  return { metadata: { uid, resourceVersion, ...proofMetadata(text) } };
}

function written(done: Done): (reply: WriteReply) => void {
  return (reply) => done({ kind: "written", reply });
}

function problemOf(what: string, reply: ReadReply): string {
  return reply.outcome === "ok" ? `the ${what} as read is not valid` : `the ${what} was not read: ${reply.detail}`;
}
