/** Reads the stuck pods of a cluster from the API server: lists nodes and pods, then reads each terminating one. */
import { LIMIT_MAX } from "../../../protocols/bounds.ts";
import type { Clock, Kube, Wire } from "../../../protocols/ports.ts";
import { epochMsOf } from "../../domain/api-time.ts";
import { readyConditionOf } from "../../domain/node-conditions.ts";
import { isOutOfService, provableFrom } from "../../domain/out-of-service.ts";
import { taintStartAt } from "../../domain/taint-swap.ts";
import { noExecuteTaints } from "../../domain/toleration.ts";
import { NODE, POD } from "../../platform/kube/protobuf/protobuf-shapes.ts";
import { collectionPath } from "../../platform/kube/transport/paths.ts";
import { serverVersion } from "../../platform/kube/transport/server-version.ts";
import { listOnce } from "../../platform/kube/watch/list-once.ts";
import { projectNode, projectPod } from "../../platform/kube/watch/projection.ts";
import { Interner } from "../../structures/interner.ts";
import { listOf, recordOf, textOf } from "../../structures/json.ts";
import { readLive } from "../connect/api-connection.ts";
import { Failure } from "../verb.ts";
import { missingSupport } from "./out-of-service-support.policy.ts";
import { returningPodOf } from "./returning-pods.policy.ts";
import {
  type Attachment,
  byAge,
  isStuck,
  type NodeSituation,
  type StuckPod,
  stuckPodOf,
  type TerminatingPod,
  type Volumes,
} from "./stuck-pods.policy.ts";

/** What the reader needs. The clock is the API server's, because deletion times are. */
export interface StuckIo {
  readonly wire: Wire;
  readonly kube: Pick<Kube, "read">;
  readonly clock: Clock;
}

/** The stuck pods of a cluster. */
export interface StuckPods {
  /** The longest stuck first, up to the limit. */
  readonly pods: readonly StuckPod[];
  readonly total: number;
  /** What could not be read, for people, one line each. */
  readonly unread: readonly string[];
}

/** The address of a terminating pod that may be stuck. */
interface Candidate extends Pick<TerminatingPod, "namespace" | "name" | "uid" | "node"> {
  readonly stuckSince: number;
}

/** Reads the stuck pods. Throws a Failure where nodes or pods cannot be read. */
export async function readStuckPods(io: StuckIo, limit: number): Promise<StuckPods> {
  const nodes = await readNodes(io);
  const found = await readPods(io, nodes);
  const shown = [...found.candidates, ...found.returning].sort(byAge).slice(0, Math.min(limit, LIMIT_MAX));
  const returning = shown.filter((pod): pod is StuckPod => "holds" in pod);
  const candidates = shown.filter((pod) => !("holds" in pod));
  const read = await Promise.all(candidates.map((pod) => readPod(io, pod)));
  const pods = read.filter((pod) => pod !== null);
  const { volumes, unread } = await readVolumes(io, pods);
  const missing = pods.length === 0 ? null : missingSupport(await serverVersion(io));
  const cluster = { volumes, missing };
  const stuck = pods.map((pod) => stuckPodOf(pod, nodes.get(pod.node), cluster)).filter((pod) => pod !== null);
  const total = found.candidates.length + found.returning.length;
  // A pod that went between the list and its read is not stuck.
  const wentCount = read.length - stuck.length;
  return { pods: [...stuck, ...returning].sort(byAge), total: total - wentCount, unread };
}

const projection = { interner: new Interner(), problem: () => {} };

async function readNodes(io: StuckIo): Promise<ReadonlyMap<string, NodeSituation>> {
  const nodes = new Map<string, NodeSituation>();
  await listed(io, "Node", NODE, (raw) => {
    const node = projectNode(raw, projection);
    if (node === null) return;
    const ready = readyConditionOf(node);
    const provableAt = provableFrom(node) ?? Number.POSITIVE_INFINITY;
    nodes.set(node.node, {
      ready: ready?.status ?? null,
      since: ready?.transitionAt ?? null,
      isOutOfService: node.taints.some(isOutOfService),
      evicting: noExecuteTaints(node.taints).map((taint) => ({ taint, since: taintStartAt(taint, node) ?? 0 })),
      isProvedDown: node.provedDown !== undefined && node.provedDown.at >= provableAt,
    });
  });
  return nodes;
}

/** The pods of a list that may be stuck: those that are terminating, and those that come back. */
interface FoundPods {
  readonly candidates: Candidate[];
  readonly returning: StuckPod[];
}

async function readPods(io: StuckIo, nodes: ReadonlyMap<string, NodeSituation>): Promise<FoundPods> {
  const found: FoundPods = { candidates: [], returning: [] };
  const nowAt = io.clock.wallMs();
  await listed(io, "Pod", POD, (raw) => {
    const bound = projectPod(raw, projection);
    if (bound === null) return;
    const situation = nodes.get(bound.node);
    const { namespace, name, uid, deletionAt } = bound.pod;
    if (deletionAt !== null && isStuck(deletionAt, situation, nowAt)) {
      found.candidates.push({ namespace, name, uid, node: bound.node, stuckSince: deletionAt });
    }
    const returning = returningPodOf(bound, situation, nowAt);
    if (returning !== null) found.returning.push(returning);
  });
  return found;
}

async function listed(
  io: StuckIo,
  kind: "Node" | "Pod",
  shape: typeof NODE,
  item: (raw: unknown) => void,
): Promise<void> {
  const problem = await listOnce(io, { path: collectionPath(kind, ""), shape }, item);
  if (problem !== null) throw new Failure(`cannot list ${kind.toLowerCase()}s: ${problem}`);
}

/** A pod as it is now; null when it is gone, or another one has its name. */
async function readPod({ kube }: StuckIo, { uid, node, namespace, name }: Candidate): Promise<TerminatingPod | null> {
  const reply = await readLive(kube, { kind: "Pod", namespace, name });
  if (reply.outcome === "gone") return null;
  if (reply.outcome !== "ok") throw new Failure(`cannot read pod ${namespace}/${name}: ${reply.detail}`);
  const { metadata, spec } = reply.object;
  const graceEndedAt = epochMsOf(textOf(metadata.deletionTimestamp));
  if (metadata.uid !== uid || graceEndedAt === null) return null;
  const seconds = metadata.deletionGracePeriodSeconds;
  return {
    namespace,
    name,
    uid,
    node,
    graceEndedAt,
    gracePeriodSeconds: typeof seconds === "number" ? seconds : null,
    finalizers: listOf(metadata.finalizers).flatMap((finalizer) => textOf(finalizer) ?? []),
    claims: claimsOf(name, spec),
  };
}

/** The claims of a pod, each once, those of ephemeral volumes included. */
function claimsOf(pod: string, spec: unknown): string[] {
  const claims = listOf(recordOf(spec).volumes).flatMap((raw) => {
    const volume = recordOf(raw);
    const claim = textOf(recordOf(volume.persistentVolumeClaim).claimName);
    const isEphemeral = volume.ephemeral !== undefined && textOf(volume.name) !== null;
    return claim ?? (isEphemeral ? `${pod}-${textOf(volume.name)}` : []);
  });
  return [...new Set(claims)];
}

const NO_VOLUMES: Volumes = { attachments: [], byClaim: new Map() };

/** The volumes of the pods that are attached. The reader need not have the right to see them. */
async function readVolumes(
  io: StuckIo,
  pods: readonly TerminatingPod[],
): Promise<{ readonly volumes: Volumes; readonly unread: readonly string[] }> {
  const withClaims = pods.filter(({ claims }) => claims.length > 0);
  if (withClaims.length === 0) return { volumes: NO_VOLUMES, unread: [] };
  const attachments: Attachment[] = [];
  const path = collectionPath("VolumeAttachment", "");
  const problem = await listOnce(io, { path, shape: null }, (raw) => {
    const { metadata, spec } = recordOf(raw);
    const name = textOf(recordOf(metadata).name);
    const node = textOf(recordOf(spec).nodeName);
    const volume = textOf(recordOf(recordOf(spec).source).persistentVolumeName);
    if (name !== null && node !== null && volume !== null) attachments.push({ name, node, volume });
  });
  if (problem !== null) return { volumes: NO_VOLUMES, unread: [unreadLine("VolumeAttachments", problem)] };
  const affected = withClaims.filter((pod) => attachments.some(({ node }) => node === pod.node));
  const { ofClaims, unread } = await readClaims(io, affected);
  return { volumes: { attachments, byClaim: ofClaims }, unread };
}

async function readClaims({ kube }: StuckIo, pods: readonly TerminatingPod[]) {
  const claims = new Set(pods.flatMap(({ namespace, claims: names }) => names.map((name) => `${namespace}/${name}`)));
  const ofClaims = new Map<string, string>();
  const problems = new Set<string>();
  const readClaim = async (claim: string): Promise<void> => {
    const [namespace = "", name = ""] = claim.split("/");
    const reply = await readLive(kube, { kind: "PersistentVolumeClaim", namespace, name });
    const volume = reply.outcome === "ok" ? textOf(recordOf(reply.object.spec).volumeName) : null;
    if (volume !== null) ofClaims.set(claim, volume);
    if (reply.outcome !== "ok" && reply.outcome !== "gone") problems.add(reply.detail);
  };
  await Promise.all([...claims].map(readClaim));
  const [problem] = problems;
  return { ofClaims, unread: problem === undefined ? [] : [unreadLine("PersistentVolumeClaims", problem)] };
}

function unreadLine(what: string, why: string): string {
  return `${what} could not be read, so volumes that are still attached are not shown: ${why}`;
}
