/**
 * Records what an API server shows during a scenario, step by step as plain lines. It does not depend on a controller.
 */
import type { Stop, Wire } from "../../protocols/ports.ts";
import { LineSplitter } from "../../services/platform/kube/watch/stream.ts";
import { type ApiObject, comparedFieldsOf } from "./compared-fields.ts";

interface WatchLine {
  readonly type: string;
  readonly object: ApiObject;
}

const WATCHED = ["nodes", "pods", "events"];

/** Every change by step. The lines leave out instants and the order within a step. */
export class Timeline {
  /** The distinct lines of each step. */
  readonly steps = new Map<string, Set<string>>();
  /**
   * Since when a field had its value when it first appeared in its step, by the API's own stamps; by `step: object
   * field`.
   */
  readonly stamps = new Map<string, number>();
  readonly #facts = new Map<string, ReadonlyMap<string, string>>();
  readonly #stops: readonly Stop[];
  #step = "";
  #lastAt = 0;

  constructor(wire: Wire) {
    this.#stops = WATCHED.map((resource) => this.#watch(wire, resource));
  }

  /** Everything recorded from now on belongs to this step. */
  begin(step: string): void {
    this.#step = step;
    this.steps.set(step, new Set());
    this.#lastAt = Date.now();
  }

  /** For how long nothing has changed, in milliseconds. */
  quietMs(): number {
    return Date.now() - this.#lastAt;
  }

  /** The present value of one field of an object; null when it has none. */
  shown(object: string, matter: string): string | null {
    return this.#facts.get(object)?.get(matter) ?? null;
  }

  /** Lines of the present step that contain a text. */
  eventTexts(text: string): string[] {
    return [...(this.steps.get(this.#step) ?? [])].filter((line) => line.includes(text));
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #watch(wire: Wire, resource: string): Stop {
    const lines = new LineSplitter();
    const exchange = wire.send(
      { method: "GET", path: `/api/v1/${resource}?watch=1`, headers: { accept: "application/json" }, body: null },
      {
        response: () => undefined,
        data: (chunk) => lines.push(chunk, (line) => this.#read(JSON.parse(Buffer.from(line).toString()))),
        end: () => undefined,
        failed: () => undefined,
      },
    );
    return () => exchange.abort();
  }

  #read({ type, object }: WatchLine): void {
    const { title, facts, stamps } = comparedFieldsOf(object);
    for (const [matter, stamp] of stamps) this.#stamp(`${this.#step}: ${title} ${matter}`, stamp);
    const before = this.#facts.get(title) ?? new Map<string, string>();
    const after = type === "DELETED" ? new Map([["", "is gone"]]) : facts;
    this.#facts.set(title, after);
    for (const matter of new Set([...before.keys(), ...after.keys()])) {
      const [old, now] = [before.get(matter), after.get(matter) ?? "none"];
      if (old !== now || object.kind === "Event") this.#tell(`${title} ${matter}: ${now}`);
    }
  }

  #stamp(key: string, stamp: number): void {
    if (!this.stamps.has(key)) this.stamps.set(key, stamp);
  }

  #tell(line: string): void {
    this.steps.get(this.#step)?.add(line);
    this.#lastAt = Date.now();
  }
}
