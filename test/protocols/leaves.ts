/** Finds and replaces single values deep inside JSON. */

/** A value that is neither a list nor a record, and the keys that lead to it. */
export interface Leaf {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Every leaf of a JSON value. */
export function leavesOf(value: unknown, path: readonly string[] = []): Leaf[] {
  if (typeof value !== "object" || value === null) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
}

/** A copy with one value replaced. */
export function withLeaf(whole: unknown, path: readonly string[], value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const inner = (whole as Readonly<Record<string, unknown>>)[key];
  const changed = withLeaf(inner, rest, value);
  if (Array.isArray(whole)) return whole.map((item, index) => (String(index) === key ? changed : item));
  return { ...(whole as object), [key]: changed };
}
