/** Shares one copy of values that many objects repeat: a million pods have the same few. */
import type { Toleration } from "../../protocols/objects.ts";
import { listOf } from "./json.ts";

/** How many texts are kept before all are dropped: sharing must not become a leak. */
const TEXTS_MAX = 200_000;
/**
 * Total characters of all toleration lists before they are dropped; a list with its key takes two to three bytes each.
 * The limit is not a number of lists, because pods of batch jobs each bring their own, some a long one.
 */
const LISTS_CHARACTERS_MAX = 4 * 1024 ** 2;

/** One copy of each text and of each list of tolerations. */
export class Interner {
  readonly #texts = new Map<string, string>();
  readonly #tolerations = new Map<string, Toleration[]>();
  #listsCharacters = 0;

  text(value: string): string {
    const known = this.#texts.get(value);
    if (known !== undefined) return known;
    if (this.#texts.size >= TEXTS_MAX) this.#texts.clear();
    this.#texts.set(value, value);
    return value;
  }

  /** The shared projection of a raw toleration list; `project` runs once for each different list. */
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
