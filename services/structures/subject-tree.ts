/** Finds the subscriptions that match a subject, with NATS' wildcards, without trying every pattern. */
import type { Stop } from "../../protocols/ports.ts";

interface Branch<T> {
  readonly next: Map<string, Branch<T>>;
  /** Subscribers to exactly the pattern that ends here. */
  readonly here: Set<T>;
  /** Subscribers to `>` from here on. */
  readonly below: Set<T>;
}

const newBranch = <T>(): Branch<T> => ({ next: new Map(), here: new Set(), below: new Set() });

/** Patterns as a tree of their tokens: a lookup takes time in proportion to the tokens of the subject. */
export class SubjectTree<T> {
  readonly #root = newBranch<T>();

  /** Adds a subscriber under a pattern. The function returned removes it. */
  add(pattern: string, subscriber: T): Stop {
    const tokens = pattern.split(".");
    const below = tokens.at(-1) === ">";
    if (below) tokens.pop();
    const path = this.#grow(tokens);
    const last = path.at(-1) ?? this.#root;
    const place = below ? last.below : last.here;
    place.add(subscriber);
    return () => {
      if (place.delete(subscriber)) prune(path, tokens);
    };
  }

  /** Calls `found` for every subscriber whose pattern matches the subject. */
  match(subject: string, found: (subscriber: T) => void): void {
    this.#walk(this.#root, subject.split("."), 0, found);
  }

  #walk(branch: Branch<T>, tokens: readonly string[], depth: number, found: (subscriber: T) => void): void {
    const token = tokens[depth];
    if (token === undefined) {
      for (const subscriber of branch.here) found(subscriber);
      return;
    }
    for (const subscriber of branch.below) found(subscriber);
    const exact = branch.next.get(token);
    if (exact !== undefined) this.#walk(exact, tokens, depth + 1, found);
    const any = branch.next.get("*");
    if (any !== undefined) this.#walk(any, tokens, depth + 1, found);
  }

  #grow(tokens: readonly string[]): Branch<T>[] {
    let branch = this.#root;
    const path = [branch];
    for (const token of tokens) {
      const grown = branch.next.get(token) ?? newBranch<T>();
      branch.next.set(token, grown);
      branch = grown;
      path.push(branch);
    }
    return path;
  }
}

/** Removes the branches of a pattern that have become empty, from its end. */
function prune<T>(path: readonly Branch<T>[], tokens: readonly string[]): void {
  for (let depth = tokens.length; depth > 0; depth--) {
    const branch = path[depth];
    if (branch === undefined || branch.here.size + branch.below.size + branch.next.size > 0) return;
    path[depth - 1]?.next.delete(tokens[depth - 1] ?? "");
  }
}
