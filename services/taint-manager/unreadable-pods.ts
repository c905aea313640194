/**
 * The pods of this process that stay on a tainted node only because a toleration cannot be read. Each is counted while
 * that lasts; the first of each kind of toleration is logged.
 */
import type { ObservedPod } from "../../protocols/objects.ts";
import type { Io } from "../../protocols/ports.ts";
import { taintName, type UnreadableToleration, unreadableText } from "../domain/toleration.ts";

/** Counts and logs such pods of all nodes. */
export class UnreadablePods {
  readonly #log: Io["log"];
  readonly #gauge: ReturnType<Io["metrics"]["gauge"]>;
  /** How many pods have each unreadable text. */
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor({ log, metrics }: Pick<Io, "log" | "metrics">) {
    this.#log = log;
    this.#gauge = metrics.gauge({
      name: "vigil_unreadable_toleration_pods",
      help: "Pods on tainted nodes that are not evicted because a toleration of theirs cannot be read.",
    });
    this.#gauge.set(0);
  }

  add({ namespace, name }: ObservedPod, node: string, { taint, toleration }: UnreadableToleration): void {
    const why = unreadableText(toleration);
    const before = this.#counts.get(why) ?? 0;
    this.#change(why, before + 1);
    if (before > 0) return;
    const stays = `pod ${namespace}/${name} is not evicted from node ${node} by ${taintName(taint)}`;
    this.#log.warn(`${stays}: ${why}; further such pods are only counted, in vigil_unreadable_toleration_pods`);
  }

  /** Stops counting a pod. */
  remove({ toleration }: UnreadableToleration): void {
    const why = unreadableText(toleration);
    this.#change(why, (this.#counts.get(why) ?? 1) - 1);
  }

  #change(why: string, count: number): void {
    this.#total += count - (this.#counts.get(why) ?? 0);
    if (count > 0) this.#counts.set(why, count);
    else this.#counts.delete(why);
    this.#gauge.set(this.#total);
  }
}
