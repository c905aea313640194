/**
 * Keeps one copy of values that many objects share, because a million pods repeat the same few. It projects nothing.
 */
import type { Toleration } from "../../protocols/objects.ts";
import { listOf } from "./kube.json.ts";

/** How many values are remembered before all are forgotten: sharing is a saving, never a leak. */
const VALUES_MAX = 200_000;

/** One copy of each text and of each list of tolerations. */
export class Interner {
  readonly #texts = new Map<string, string>();
  readonly #tolerations = new Map<string, Toleration[]>();

  /** The copy of this text that everyone shares. */
  text(value: string): string {
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    if (this.#texts.size >= VALUES_MAX) this.#texts.clear();
    this.#texts.set(value, value);
    return value;
  }

  /** The projection of a raw toleration list that everyone shares; `project` runs once for each different list. */
  tolerations(raw: unknown, project: (list: readonly unknown[]) => Toleration[]): Toleration[] {
    const list = listOf(raw);
    const key = list.length === 0 ? "" : JSON.stringify(list);
    const known = this.#tolerations.get(key);
    if (known !== undefined) return known;
    if (this.#tolerations.size >= VALUES_MAX) this.#tolerations.clear();
    const shared = project(list);
    this.#tolerations.set(key, shared);
    return shared;
  }
}
