/** What the API shows after nodes of a world fall silent. It knows no controller and starts none. */

import { epochMsOf } from "../../services/domain/api-time.ts";
import type { HollowSelector } from "../../services/sandbox/hollow/node-selection.ts";
import { until } from "../support/until.ts";
import type { World } from "./bench-world.ts";
import { changesOf, LEASES_PATH, listOf, type RawObject } from "./raw-api.ts";

/** The lateness of each result, in milliseconds. */
export interface SilenceFound {
  readonly silent: number;
  /** How many requests the controller sent until everything was marked; NaN where nobody counted. */
  readonly requests: number;
  /** From the last renewal of a node's lease plus the grace to Ready=Unknown. */
  readonly verdicts: readonly number[];
  /** From Ready=Unknown to the unreachable:NoSchedule taint. */
  readonly taints: readonly number[];
  /** From Ready=Unknown of a node to each of its pods that is not ready. */
  readonly pods: readonly number[];
  /** From when a verdict is due to each pod that is not ready: what a Service's clients see of both. */
  readonly podsPastGrace: readonly number[];
  /** From Ready=True of a node that returned to the removal of its last taint. */
  readonly healed: readonly number[];
}

/** Which nodes to silence, and what is known of the controller. */
export interface Silence {
  readonly selector: HollowSelector;
  readonly graceMs: number;
  /** How many requests the controller has sent so far. */
  readonly requests?: () => Promise<number>;
  /** How long after the grace everything must have happened. */
  readonly withinMs?: number;
}

const WITHIN_MS = 120_000;
const LOOK_MS = 50;
const UNREACHABLE = "node.kubernetes.io/unreachable";

/** Silences nodes, waits until all of them and their pods are marked, then lets them return and be healed. */
export async function fallSilent(
  world: World,
  { selector, graceMs, requests = async () => Number.NaN, withinMs = WITHIN_MS }: Silence,
): Promise<SilenceFound> {
  const seen = new Seen();
  const stops = await Promise.all([
    changesOf(world.wire, "/api/v1/nodes", (node, atMs) => seen.node(node, atMs)),
    changesOf(world.wire, "/api/v1/pods", (pod, atMs) => seen.pod(pod, atMs)),
  ]);
  try {
    const before = await requests();
    const silent = await world.order({ order: "silence", selector });
    const pods = silent * world.size.podsPerNode;
    const waiting = { withinMs: graceMs + withinMs, everyMs: LOOK_MS };
    const isFound = () => seen.taintedAt.size >= silent && seen.unreadyAt.size >= pods;
    await until("silent nodes are tainted and their pods not ready", isFound, waiting).catch((error: Error) => {
      const { unknownAt, taintedAt, unreadyAt } = seen;
      const counts = `${unknownAt.size} Unknown, ${taintedAt.size} tainted of ${silent}; ${unreadyAt.size} of ${pods} pods`;
      throw new Error(`${error.message}: ${counts}`);
    });
    const sent = (await requests()) - before;
    const renewals = await lastRenewals(world);
    await world.order({ order: "resume", selector });
    await until("the nodes are healed", () => seen.illNodes.size === 0, waiting);
    return { silent, requests: sent, ...seen.found(renewals, graceMs) };
  } finally {
    for (const stop of stops) stop();
  }
}

/** When each node last renewed its lease, in wall milliseconds. */
async function lastRenewals({ wire }: World): Promise<ReadonlyMap<string, number>> {
  const { items } = await listOf(wire, LEASES_PATH);
  return new Map(items.map(({ metadata, spec }) => [metadata.name, epochMsOf(spec.renewTime) ?? Number.NaN]));
}

/** When each result of a silence was first observed. */
class Seen {
  readonly unknownAt = new Map<string, number>();
  readonly taintedAt = new Map<string, number>();
  readonly unreadyAt = new Map<string, { readonly node: string; readonly atMs: number }>();
  readonly readyAgainAt = new Map<string, number>();
  readonly healedAt = new Map<string, number>();
  /** Nodes that are Unknown or tainted unreachable at present. */
  readonly illNodes = new Set<string>();

  node({ metadata: { name }, spec, status }: RawObject, atMs: number): void {
    const isUnknown = readyOf(status) === "Unknown";
    const taints = spec.taints?.filter(({ key }) => key === UNREACHABLE) ?? [];
    if (isUnknown && !this.unknownAt.has(name)) this.unknownAt.set(name, atMs);
    if (taints.some(({ effect }) => effect === "NoSchedule") && !this.taintedAt.has(name))
      this.taintedAt.set(name, atMs);
    if (!isUnknown && this.unknownAt.has(name) && !this.readyAgainAt.has(name)) this.readyAgainAt.set(name, atMs);
    if (isUnknown || taints.length > 0) this.illNodes.add(name);
    else if (this.illNodes.delete(name)) this.healedAt.set(name, atMs);
  }

  pod({ metadata: { uid }, spec: { nodeName = "" }, status }: RawObject, atMs: number): void {
    if (readyOf(status) === "False" && !this.unreadyAt.has(uid)) this.unreadyAt.set(uid, { node: nodeName, atMs });
  }

  found(renewals: ReadonlyMap<string, number>, graceMs: number): Omit<SilenceFound, "silent" | "requests"> {
    const since = (instants: ReadonlyMap<string, number>, node: string) => instants.get(node) ?? Number.NaN;
    return {
      verdicts: [...this.unknownAt].map(([node, atMs]) => atMs - since(renewals, node) - graceMs),
      taints: [...this.taintedAt].map(([node, atMs]) => atMs - since(this.unknownAt, node)),
      pods: [...this.unreadyAt.values()].map(({ node, atMs }) => atMs - since(this.unknownAt, node)),
      podsPastGrace: [...this.unreadyAt.values()].map(({ node, atMs }) => atMs - since(renewals, node) - graceMs),
      healed: [...this.healedAt].map(([node, atMs]) => atMs - since(this.readyAgainAt, node)),
    };
  }
}

function readyOf(status: RawObject["status"]): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status;
}
