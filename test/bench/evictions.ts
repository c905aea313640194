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

/**
 * Taints these nodes at once with a key that their pods tolerate for a while. Returns how late each pod was deleted, in
 * milliseconds after its deadline: the instant at which the taint was first seen plus what the pod tolerates; infinity
 * for one that is still there after `WITHIN_MS`. The taint has no `timeAdded`, so every controller counts from when it
 * sees it. Removes the taints again.
 */
export async function evictionsOf(world: World, nodes: readonly string[]): Promise<readonly number[]> {
  const seen = new Seen(new Set(nodes));
  const stops = await Promise.all([
    changesOf(world.wire, "/api/v1/nodes", (node, atMs) => seen.node(node, atMs)),
    changesOf(world.wire, "/api/v1/pods", (pod, atMs) => seen.pod(pod, atMs)),
  ]);
  try {
    await taint(world.wire, nodes, [BENCH_TAINT]);
    const expected = nodes.length * world.size.podsPerNode;
    const untilMs = performance.now() + BENCH_TOLERATION_SECONDS * 1000 + WITHIN_MS;
    while (seen.late.length < expected && performance.now() < untilMs) await pause(LOOK_MS);
    return withMissing(seen.late, expected);
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
  readonly late: number[] = [];
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

  pod({ metadata: { uid, deletionTimestamp }, spec: { nodeName = "" } }: RawObject, atMs: number): void {
    if (deletionTimestamp === undefined || !this.#nodes.has(nodeName) || this.#deleted.has(uid)) return;
    this.#deleted.add(uid);
    this.late.push(atMs - (this.#taintedAt.get(nodeName) ?? Number.NaN) - BENCH_TOLERATION_SECONDS * 1000);
  }
}
