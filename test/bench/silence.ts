/** What the API shows after nodes of a world fall silent. It knows no controller and starts none. */

import { epochMsOf } from "../../services/domain/api-time.ts";
import type { HollowSelector } from "../../services/sandbox/hollow/node-selection.ts";
import { until } from "../support/until.ts";
import type { World } from "./bench-world.ts";
import { changesOf, LEASES_PATH, listOf, type RawObject } from "./raw-api.ts";

/** The lateness of each result, in milliseconds. */
export interface SilenceFound {
  readonly silent: number;
  /** From the last renewal of a node's lease plus the grace to Ready=Unknown. */
  readonly verdicts: readonly number[];
  /** From Ready=Unknown to the unreachable:NoSchedule taint. */
  readonly taints: readonly number[];
  /** From Ready=Unknown of a node to each of its pods that is not ready. */
  readonly pods: readonly number[];
  /** From when a verdict is due to each pod that is not ready: what a Service's clients see of both. */
  readonly podsPastGrace: readonly number[];
}

/** Which nodes to silence, and what is known of the controller. */
export interface Silence {
  readonly selector: HollowSelector;
  readonly graceMs: number;
  /** How long after the grace everything must have happened. */
  readonly withinMs?: number;
}

const WITHIN_MS = 120_000;
const LOOK_MS = 50;
const UNREACHABLE = "node.kubernetes.io/unreachable";

/** Silences nodes, waits until all of them and their pods are marked, then lets them return and be healed. */
export async function fallSilent(
  world: World,
  { selector, graceMs, withinMs = WITHIN_MS }: Silence,
): Promise<SilenceFound> {
  const seen = new Seen();
  const stops = await Promise.all([
    changesOf(world.wire, "/api/v1/nodes", (node, atMs) => seen.node(node, atMs)),
    changesOf(world.wire, "/api/v1/pods", (pod, atMs) => seen.pod(pod, atMs)),
  ]);
  try {
    const silent = await world.order({ order: "silence", selector });
    const pods = silent * world.size.podsPerNode;
    const waiting = { withinMs: graceMs + withinMs, everyMs: LOOK_MS };
    const isFound = () => seen.taintedAt.size >= silent && seen.unreadyAt.size >= pods;
    await until("silent nodes are tainted and their pods not ready", isFound, waiting).catch((error: Error) => {
      const { unknownAt, taintedAt, unreadyAt } = seen;
      const counts = `${unknownAt.size} Unknown, ${taintedAt.size} tainted of ${silent}; ${unreadyAt.size} of ${pods} pods`;
      throw new Error(`${error.message}: ${counts}`);
    });
    const found = seen.found(silent, await lastRenewals(world), graceMs);
    await world.order({ order: "resume", selector });
    await until("the nodes are healed", () => seen.illNodes.size === 0, waiting);
    return found;
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
  /** Nodes that are Unknown or tainted unreachable at present. */
  readonly illNodes = new Set<string>();

  node({ metadata: { name }, spec, status }: RawObject, atMs: number): void {
    const isUnknown = readyOf(status) === "Unknown";
    const taints = spec.taints?.filter(({ key }) => key === UNREACHABLE) ?? [];
    if (isUnknown && !this.unknownAt.has(name)) this.unknownAt.set(name, atMs);
    if (taints.some(({ effect }) => effect === "NoSchedule") && !this.taintedAt.has(name))
      this.taintedAt.set(name, atMs);
    if (isUnknown || taints.length > 0) this.illNodes.add(name);
    else this.illNodes.delete(name);
  }

  pod({ metadata: { uid }, spec: { nodeName = "" }, status }: RawObject, atMs: number): void {
    if (readyOf(status) === "False" && !this.unreadyAt.has(uid)) this.unreadyAt.set(uid, { node: nodeName, atMs });
  }

  found(silent: number, renewals: ReadonlyMap<string, number>, graceMs: number): SilenceFound {
    const since = (instants: ReadonlyMap<string, number>, node: string) => instants.get(node) ?? Number.NaN;
    return {
      silent,
      verdicts: [...this.unknownAt].map(([node, atMs]) => atMs - since(renewals, node) - graceMs),
      taints: [...this.taintedAt].map(([node, atMs]) => atMs - since(this.unknownAt, node)),
      pods: [...this.unreadyAt.values()].map(({ node, atMs }) => atMs - since(this.unknownAt, node)),
      podsPastGrace: [...this.unreadyAt.values()].map(({ node, atMs }) => atMs - since(renewals, node) - graceMs),
    };
  }
}

function readyOf(status: RawObject["status"]): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status;
}
