/** How late a controller deletes the pods of tainted nodes. It knows no controller and starts none. */
import type { Wire } from "../../protocols/ports.ts";
import type { World } from "./bench-world.ts";
import { withMissing } from "./measurements.ts";
import { pause } from "./pause.ts";
import { changesOf, patch, type RawObject } from "./raw-api.ts";
import { BENCH_TAINT, BENCH_TOLERATION_SECONDS } from "./typical-objects.ts";

/** How long after the deadline a pod's deletion is waited for. */
export const WITHIN_MS = 60_000;
const LOOK_MS = 50;
const PATCHES_AT_ONCE = 10;

/** A pod that was evicted, in epoch milliseconds. */
export interface EvictedPod {
  readonly name: string;
  /** The instant at which its node's taint was first seen plus what the pod tolerates. */
  readonly dueAt: number;
  /** When its deletion arrived on a watch. */
  readonly seenAt: number;
}

/** The pods that were due at once. */
export interface Wave {
  readonly pods: readonly EvictedPod[];
  /** How many pods were due. */
  readonly due: number;
}

/** How late each pod was deleted, in milliseconds; infinity for one that was still there after `WITHIN_MS`. */
export function latenessOf({ pods, due }: Wave): readonly number[] {
  return withMissing(
    pods.map(({ dueAt, seenAt }) => seenAt - dueAt),
    due,
  );
}

/**
 * Taints these nodes at once with a key that their pods tolerate for a while, and returns what became of the pods. The
 * taint has no `timeAdded`, so every controller counts from when it sees it. Removes the taints again.
 */
export async function evictionsOf(world: World, nodes: readonly string[]): Promise<Wave> {
  const seen = new Seen(new Set(nodes));
  const stops = await Promise.all([
    changesOf(world.wire, "/api/v1/nodes", (node, atMs) => seen.node(node, atMs)),
    changesOf(world.wire, "/api/v1/pods", (pod, atMs) => seen.pod(pod, atMs)),
  ]);
  try {
    await taint(world.wire, nodes, [BENCH_TAINT]);
    const due = nodes.length * world.size.podsPerNode;
    const untilMs = performance.now() + BENCH_TOLERATION_SECONDS * 1000 + WITHIN_MS;
    while (seen.pods.length < due && performance.now() < untilMs) await pause(LOOK_MS);
    return { pods: [...seen.pods], due };
  } finally {
    for (const stop of stops) stop();
    await taint(world.wire, nodes, null);
  }
}

async function taint(wire: Wire, nodes: readonly string[], taints: readonly object[] | null): Promise<void> {
  const waiting = [...nodes];
  const work = async () => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      await patch(wire, `/api/v1/nodes/${name}`, { spec: { taints } });
    }
  };
  await Promise.all(Array.from({ length: PATCHES_AT_ONCE }, work));
}

class Seen {
  readonly pods: EvictedPod[] = [];
  readonly #nodes: ReadonlySet<string>;
  readonly #taintedAt = new Map<string, number>();
  readonly #deleted = new Set<string>();

  constructor(nodes: ReadonlySet<string>) {
    this.#nodes = nodes;
  }

  node({ metadata: { name }, spec }: RawObject, atMs: number): void {
    const isTainted = spec.taints?.some(({ key }) => key === BENCH_TAINT.key) ?? false;
    if (isTainted && !this.#taintedAt.has(name)) this.#taintedAt.set(name, atMs);
  }

  pod({ metadata: { name, uid, deletionTimestamp }, spec: { nodeName = "" } }: RawObject, seenAt: number): void {
    if (deletionTimestamp === undefined || !this.#nodes.has(nodeName) || this.#deleted.has(uid)) return;
    this.#deleted.add(uid);
    const dueAt = (this.#taintedAt.get(nodeName) ?? Number.NaN) + BENCH_TOLERATION_SECONDS * 1000;
    this.pods.push({ name, dueAt, seenAt });
  }
}
