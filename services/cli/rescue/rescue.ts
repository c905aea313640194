/** Reads Vigil's own pods and the leases of their nodes, and deletes the pods of workloads that were lost. */
import { type ObjectRef, Urgency, type WriteReply } from "../../../protocols/ports.ts";
import { spanText } from "../../domain/format.ts";
import { collectionPath } from "../../platform/kube/transport/paths.ts";
import { listOnce } from "../../platform/kube/watch/list-once.ts";
import { listOf, recordOf, textOf } from "../../structures/json.ts";
import { type ApiConnection, leaseRenewal } from "../connect/api-connection.ts";
import { Failure, type Host, pause } from "../verb.ts";
import {
  decisiveNodes,
  type LostPod,
  type OwnPod,
  type Renewals,
  type Verdict,
  verdictsOf,
  verdictText,
  type Workload,
} from "./rescue.policy.ts";

/** Which pods are Vigil's, and when they count as lost. */
export interface RescueOptions {
  readonly namespace: string;
  readonly selector: string;
  readonly silentForMs: number;
  /** For how long a lease must not change while it is watched, in milliseconds. */
  readonly observeMs: number;
  readonly dryRun: boolean;
}

/** Where a rescue reads, writes, waits and reports. */
export interface RescueIo extends Pick<ApiConnection, "wire" | "kube" | "clock"> {
  readonly host: Pick<Host, "print" | "stopped">;
}

/** Deletes the pods of lost workloads, and reports each. Throws a Failure for what it cannot read, delete or help. */
export async function rescue(io: RescueIo, options: RescueOptions): Promise<void> {
  const first = await assess(io, options, null);
  let { verdicts } = first;
  if (verdicts.some(isLost)) {
    io.host.print(
      `all pods of a workload are on silent nodes; watching the leases for ${spanText(options.observeMs)}\n`,
    );
    await pause(options.observeMs, io.clock, io.host);
    if (io.host.stopped.aborted) throw new Failure("interrupted while it observed the leases: nothing was deleted");
    ({ verdicts } = await assess(io, options, first.renewals));
  }
  const problems: string[] = [];
  for (const verdict of verdicts) {
    if (verdict.kind === "stuck") problems.push(verdictText(verdict));
    else io.host.print(`${verdictText(verdict)}\n`);
    if (verdict.kind === "lost") problems.push(...(await deletePods(io, options, verdict.pods)));
  }
  if (problems.length > 0) throw new Failure(problems.join("; "));
}

const isLost = ({ kind }: Verdict): boolean => kind === "lost" || kind === "stuck";

async function assess(
  io: RescueIo,
  options: RescueOptions,
  before: Renewals | null,
): Promise<{ readonly verdicts: readonly Verdict[]; readonly renewals: Renewals }> {
  const { namespace, selector, silentForMs } = options;
  const pods = await readPods(io, options);
  if (pods.length === 0) {
    throw new Failure(`no pod in namespace ${namespace} has the labels ${selector}: check --namespace and --selector`);
  }
  const nodes = decisiveNodes(pods);
  const read = await Promise.all(nodes.map(async (node) => [node, await leaseRenewal(io.kube, node)] as const));
  const renewals = new Map(read);
  return { renewals, verdicts: verdictsOf(pods, { renewals, before, nowAt: io.clock.wallMs(), silentForMs }) };
}

async function readPods(io: RescueIo, { namespace, selector }: RescueOptions): Promise<readonly OwnPod[]> {
  const pods: OwnPod[] = [];
  const path = collectionPath("Pod", namespace);
  const problem = await listOnce(io, { path, shape: null, labelSelector: selector, isLive: true }, (raw) => {
    const pod = ownPodOf(raw);
    if (pod !== null) pods.push(pod);
  });
  if (problem !== null) throw new Failure(`cannot list pods of namespace ${namespace}: ${problem}`);
  return pods;
}

/** Null for the pod of a Job: it is no process of Vigil, and nothing keeps it running. */
function ownPodOf(raw: unknown): OwnPod | null {
  const { metadata, spec, status } = recordOf(raw);
  const { name, uid, resourceVersion, deletionTimestamp, ...rest } = recordOf(metadata);
  const workload = workloadOf(textOf(name) ?? "", rest);
  if (workload.kind === "Job") return null;
  const { phase } = recordOf(status);
  return {
    name: textOf(name) ?? "",
    uid: textOf(uid) ?? "",
    resourceVersion: textOf(resourceVersion) ?? "",
    workload,
    node: textOf(recordOf(spec).nodeName),
    isLeaving: textOf(deletionTimestamp) !== null || phase === "Failed" || phase === "Succeeded",
  };
}

/** The controller of a pod; its Deployment where it has one, because a rollout has two ReplicaSets. */
function workloadOf(pod: string, metadata: Readonly<Record<string, unknown>>): Workload {
  const owner = listOf(metadata.ownerReferences)
    .map(recordOf)
    .find(({ controller }) => controller === true);
  if (owner === undefined) return { kind: "Pod", name: pod };
  const { kind, name } = { kind: textOf(owner.kind) ?? "", name: textOf(owner.name) ?? "" };
  const hash = textOf(recordOf(metadata.labels)["pod-template-hash"]);
  const hasDeployment = kind === "ReplicaSet" && hash !== null && name.endsWith(`-${hash}`);
  return hasDeployment ? { kind: "Deployment", name: name.slice(0, -hash.length - 1) } : { kind, name };
}

/** Deletes pods as they were read, without force. Returns the problems, for people. */
async function deletePods(io: RescueIo, options: RescueOptions, pods: readonly LostPod[]): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const pod of pods) {
    const title = `pod ${options.namespace}/${pod.name}`;
    if (options.dryRun) {
      io.host.print(`would delete: ${title}\n`);
      continue;
    }
    const reply = await deletePod(io, options.namespace, pod);
    if (reply.outcome === "ok") io.host.print(`deleted: ${title}\n`);
    else if (reply.outcome === "conflict" || reply.outcome === "gone") io.host.print(`changed meanwhile: ${title}\n`);
    else problems.push(`cannot delete ${title}: ${reply.detail}`);
  }
  return problems;
}

function deletePod(
  { kube }: RescueIo,
  namespace: string,
  { name, uid, resourceVersion }: LostPod,
): Promise<WriteReply> {
  const ref: ObjectRef = { kind: "Pod", namespace, name };
  return new Promise((resolve) =>
    kube.write({ ref, urgency: Urgency.eviction, verb: "delete", uid, resourceVersion }, resolve),
  );
}
