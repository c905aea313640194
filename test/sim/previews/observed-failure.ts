/** Records when the API shows nodes Unknown and tainted, and pods deleted. It judges nothing. */
import type { Stop } from "../../../protocols/ports.ts";
import type { Change } from "../../../services/sandbox/apiserver/store/stored.ts";
import { type CheckedNode, conditionOf, isConditionTaint, isPaced } from "../invariants.ts";
import type { World } from "../world.ts";
import { eventOf, type PreviewedEvent } from "./events.ts";

/** The events of one failure, from now on. */
export class ObservedFailure {
  readonly #world: World;
  readonly #fromMs: number;
  readonly #afterMs = new Map<string, number>();
  readonly #stops: readonly Stop[];

  constructor(world: World) {
    this.#world = world;
    this.#fromMs = world.clock.monotonicMs();
    const { store } = world.api;
    this.#stops = [
      store.collection("nodes").listen((change) => this.#onNode(change)),
      store.collection("pods").listen((change) => this.#onPod(change)),
    ];
  }

  /** How long ago the failure was. */
  get spanMs(): number {
    return this.#world.clock.monotonicMs() - this.#fromMs;
  }

  /** What has happened. */
  get events(): readonly PreviewedEvent[] {
    return [...this.#afterMs].map(([what, afterMs]) => ({ what, afterMs }));
  }

  /** Ends the record. */
  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #onNode({ now, before }: Change): void {
    if (before === null) return;
    const [was, is]: readonly CheckedNode[] = [JSON.parse(before.json), JSON.parse(now.json)];
    if (was === undefined || is === undefined) return;
    if (isUnknown(is) && !isUnknown(was)) this.#note(eventOf.unknown(now.name));
    if (isTainted(is) && !isTainted(was)) this.#note(eventOf.tainted(now.name));
  }

  #onPod({ type, now, before }: Change): void {
    if (type === "DELETED" || (now.terminating && before?.terminating === false)) this.#note(eventOf.deleted(now.name));
  }

  /** Of events that repeat, the first counts. */
  #note(what: string): void {
    if (!this.#afterMs.has(what)) this.#afterMs.set(what, this.spanMs);
  }
}

function isUnknown(node: CheckedNode): boolean {
  return conditionOf(node, "Ready")?.status === "Unknown";
}

function isTainted({ spec }: CheckedNode): boolean {
  return (spec?.taints ?? []).some((taint) => isPaced(taint) || isConditionTaint(taint));
}
