/**
 * Keeps one copy of values that many objects share, because a million pods repeat the same few. It projects nothing.
 */
import type { Toleration } from "../../../protocols/objects.ts";
import { listOf } from "./json.ts";

/** How many texts are remembered before all are forgotten: sharing is a saving, never a leak. */
const TEXTS_MAX = 200_000;
/**
 * Characters of all lists of tolerations remembered before they are forgotten; a list with its key takes two to three
 * bytes for each. By size and not by number: pods of batch jobs each bring a list of their own, some a long one.
 */
const LISTS_CHARACTERS_MAX = 4 * 1024 ** 2;

/** One copy of each text and of each list of tolerations. */
export class Interner {
  readonly #texts = new Map<string, string>();
  readonly #tolerations = new Map<string, Toleration[]>();
  #listsCharacters = 0;

  /** The copy of this text that everyone shares. */
  text(value: string): string {
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    if (this.#texts.size >= TEXTS_MAX) this.#texts.clear();
    this.#texts.set(value, value);
    return value;
  }

  /** The projection of a raw toleration list that everyone shares; `project` runs once for each different list. */
  tolerations(raw: unknown, project: (list: readonly unknown[]) => Toleration[]): Toleration[] {
    const list = listOf(raw);
    const key = list.length === 0 ? "" : JSON.stringify(list);
    const known = this.#tolerations.get(key);
    if (known !== undefined) return known;
    this.#makeRoom(key.length);
    const shared = project(list);
    this.#tolerations.set(key, shared);
    return shared;
  }

  #makeRoom(characters: number): void {
    this.#listsCharacters += characters;
    if (this.#listsCharacters <= LISTS_CHARACTERS_MAX) return;
    this.#tolerations.clear();
    this.#listsCharacters = characters;
  }
}
