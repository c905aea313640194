/**
 * The references of objects, read from a heap snapshot of V8, which includes private fields and closure variables. It
 * knows nothing of Vigil.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeHeapSnapshot } from "node:v8";

/**
 * How many references the collections of one name contain together. A name is `Class.field`, by the owner of the
 * collection.
 */
export type Holdings = ReadonlyMap<string, number>;

const COLLECTIONS: ReadonlySet<string> = new Set(["Map", "Set", "Array"]);
/** Kinds of heap nodes that make up data. */
const DATA: ReadonlySet<string> = new Set(["object", "closure", "array"]);
/**
 * Kinds that are no objects: a hidden value marks a deleted element, and V8 stores a number in the table of its
 * collection or, from optimised code, on the heap (seed 13).
 */
const NO_ELEMENTS: ReadonlySet<string> = new Set(["hidden", "number"]);
/** Where data ends, and modules and the global object begin. */
const CODE: readonly string[] = ["system / NativeContext", "system / SourceTextModule", "global"];

/** Marks in a snapshot where a walk begins. */
class HeapRoot {
  readonly object: object;

  constructor(object: object) {
    this.object = object;
  }
}

/**
 * Counts what an object references. A walk does not enter objects of the classes `outside`. It lasts a second or two.
 */
export function holdingsOf(object: object, outside: readonly string[]): Holdings {
  const root = new HeapRoot(object);
  return new Heap(snapshot(), new Set([...CODE, ...outside])).holdings(root.constructor.name);
}

/** The used parts of a snapshot: one list with the numbers of all nodes, another with those of the references. */
interface Snapshot {
  readonly snapshot: { readonly meta: Readonly<Record<"node_fields" | "edge_fields", readonly string[]>> & Kinds };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}
type Kinds = Readonly<Record<"node_types" | "edge_types", readonly [readonly string[]]>>;

function snapshot(): Snapshot {
  const folder = mkdtempSync(join(tmpdir(), "vigil-heap-"));
  try {
    return JSON.parse(readFileSync(writeHeapSnapshot(join(folder, "all.heapsnapshot")), "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A reference from one heap node to another; elements have no name. */
interface Reference {
  readonly name: string | null;
  readonly to: number;
}

/** A snapshot as a graph. A heap node is identified by the index of its first number. */
class Heap {
  readonly #snapshot: Snapshot;
  readonly #outside: ReadonlySet<string>;
  /** The index of each heap node's first reference. */
  readonly #firsts = new Map<number, number>();

  constructor(taken: Snapshot, outside: ReadonlySet<string>) {
    this.#snapshot = taken;
    this.#outside = outside;
    const { node_fields, edge_fields } = taken.snapshot.meta;
    let first = 0;
    for (let place = 0; place < taken.nodes.length; place += node_fields.length) {
      this.#firsts.set(place, first);
      first += this.#number(place, "edge_count") * edge_fields.length;
    }
  }

  /** What the objects of a class reference. */
  holdings(className: string): Holdings {
    const names = this.#namesFrom([...this.#firsts.keys()].filter((place) => this.#className(place) === className));
    const held = new Map<string, number>();
    for (const [place, name] of names) {
      if (!COLLECTIONS.has(this.#className(place))) continue;
      held.set(name, (held.get(name) ?? 0) + this.#references(place).length);
    }
    return held;
  }

  /**
   * The heap nodes that can be reached, each with the name of its field. Of several fields the first in alphabetical
   * order counts, because the order of a snapshot varies.
   */
  #namesFrom(roots: readonly number[]): Map<number, string> {
    const names = new Map(roots.map((place) => [place, ""]));
    const left = [...roots];
    for (let place = left.pop(); place !== undefined; place = left.pop()) {
      const [className, own] = [this.#className(place), names.get(place) ?? ""];
      const owner = className === "system / Context" ? "closure" : className;
      for (const { name, to } of this.#references(place)) {
        if (!this.#isData(to)) continue;
        const known = names.get(to);
        const found = name === null || COLLECTIONS.has(className) ? `${own}[]` : `${owner}.${name}`;
        if (known === undefined) left.push(to);
        if (known === undefined || found < known) names.set(to, found);
      }
    }
    return names;
  }

  #isData(place: number): boolean {
    return DATA.has(this.#kind(place)) && !this.#outside.has(this.#className(place));
  }

  /** The references of a heap node; of a collection its elements. */
  #references(place: number): Reference[] {
    const isCollection = COLLECTIONS.has(this.#className(place));
    const all = [...this.#edges(place)];
    if (!isCollection) return all.filter(({ kind, name }) => kind !== "weak" && name !== "__proto__");
    const table = all.find(({ name }) => name === "table" || name === "elements");
    if (table === undefined) return [];
    const elements = [...this.#edges(table.to)].filter(({ to }) => !NO_ELEMENTS.has(this.#kind(to)));
    return elements.map(({ to }) => ({ name: null, to }));
  }

  *#edges(place: number): Generator<{ readonly kind: string; readonly name: string; readonly to: number }> {
    const {
      edges,
      strings,
      snapshot: { meta },
    } = this.#snapshot;
    const size = meta.edge_fields.length;
    const first = this.#firsts.get(place) ?? 0;
    for (let index = 0; index < this.#number(place, "edge_count"); index++) {
      const [kind = 0, name = 0, to = 0] = edges.slice(first + index * size, first + (index + 1) * size);
      const kindName = meta.edge_types[0][kind] ?? "";
      const isNumbered = kindName === "element" || kindName === "hidden";
      yield { kind: kindName, name: isNumbered ? "" : (strings[name] ?? ""), to };
    }
  }

  #number(place: number, field: string): number {
    const {
      nodes,
      snapshot: { meta },
    } = this.#snapshot;
    return nodes[place + meta.node_fields.indexOf(field)] ?? 0;
  }

  #kind(place: number): string {
    return this.#snapshot.snapshot.meta.node_types[0][this.#number(place, "type")] ?? "";
  }

  #className(place: number): string {
    return this.#snapshot.strings[this.#number(place, "name")] ?? "";
  }
}
