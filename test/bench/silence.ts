/** What the API shows after nodes of a world fall silent. It knows no controller and starts none. */

import { epochMsOf } from "../../services/domain/api-time.ts";
import type { HollowSelector } from "../../services/sandbox/hollow/node-selection.ts";
import type { World } from "./bench-world.ts";
import { withMissing } from "./measurements.ts";
import { pause } from "./pause.ts";
import { changesOf, LEASES_PATH, listOf, type RawObject, readyOf } from "./raw-api.ts";

/** The lateness of each result, in milliseconds; infinity for each that did not happen in time. */
export interface SilenceFound {
  readonly silent: number;
  /** How many requests the controller sent until everything was marked; NaN where they were not counted. */
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
  /** How long after the grace results are waited for. */
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
    const waitsMs = graceMs + withinMs;
    await waited(() => seen.taintedAt.size >= silent && seen.unreadyAt.size >= pods, waitsMs);
    const sent = (await requests()) - before;
    const renewals = await lastRenewals(world);
    await world.order({ order: "resume", selector });
    await waited(() => seen.illNodes.size === 0, waitsMs);
    return { silent, requests: sent, ...seen.found(renewals, { graceMs, silent, pods }) };
  } finally {
    for (const stop of stops) stop();
  }
}

/** Waits until the condition is true, or for so long: what has not happened by then is a result, too. */
async function waited(holds: () => boolean, withinMs: number): Promise<void> {
  const untilMs = performance.now() + withinMs;
  while (!holds() && performance.now() < untilMs) await pause(LOOK_MS);
}

/** When each node last renewed its lease, in wall milliseconds. */
async function lastRenewals({ wire }: World): Promise<ReadonlyMap<string, number>> {
  const { items } = await listOf(wire, LEASES_PATH);
  return new Map(items.map(({ metadata, spec }) => [metadata.name, epochMsOf(spec.renewTime) ?? Number.NaN]));
}

/** How much a silence has to bring. */
interface Expected {
  readonly graceMs: number;
  readonly silent: number;
  readonly pods: number;
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

  found(renewals: ReadonlyMap<string, number>, expected: Expected): Omit<SilenceFound, "silent" | "requests"> {
    const { graceMs, silent, pods } = expected;
    const since = (instants: ReadonlyMap<string, number>, node: string) => instants.get(node) ?? Number.NaN;
    const unready = [...this.unreadyAt.values()];
    const verdicts = [...this.unknownAt].map(([node, atMs]) => atMs - since(renewals, node) - graceMs);
    const taints = [...this.taintedAt].map(([node, atMs]) => atMs - since(this.unknownAt, node));
    const marks = unready.map(({ node, atMs }) => atMs - since(this.unknownAt, node));
    const pastGrace = unready.map(({ node, atMs }) => atMs - since(renewals, node) - graceMs);
    const healed = [...this.healedAt].map(([node, atMs]) => atMs - since(this.readyAgainAt, node));
    return {
      verdicts: withMissing(verdicts, silent),
      taints: withMissing(taints, silent),
      pods: withMissing(marks, pods),
      podsPastGrace: withMissing(pastGrace, pods),
      healed: withMissing(healed, this.healedAt.size + this.illNodes.size),
    };
  }
}
