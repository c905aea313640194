/**
 * Stores what a reader receives: projects objects, keeps the known ones, and publishes changes to one sink. It sends no
 * requests.
 */
import type { WatchState } from "../../../../protocols/objects.ts";
import type { Log, WatchSink } from "../../../../protocols/ports.ts";
import { parsed, recordOf, textOf } from "../../../structures/json.ts";
import { type Refusal, refusalOf } from "../transport/outcome.policy.ts";
import type { ProjectionIo } from "./projection.ts";
import type { WatchedResource } from "./watched.ts";

/** The meaning of a watch line. `malformed`: an event was lost, so the resource must be listed again. */
export type LineMeaning =
  | { readonly kind: "event" | "bookmark"; readonly resourceVersion: string | null }
  | { readonly kind: "error"; readonly refusal: Refusal }
  | { readonly kind: "malformed" };

/** The known objects of one resource. */
export class WatchStore<T> {
  readonly #resource: WatchedResource<T>;
  readonly #io: ProjectionIo;
  readonly #sink: WatchSink<T>;
  readonly #log: Log;
  #known: ObjectIndex<T>;
  #listed: ObjectIndex<T>;
  /** How many listed objects differ from the known ones, so far. */
  #differences = 0;
  /**
   * Whether every event since the last list could be read: after an unreadable one an object may be known in an older
   * state.
   */
  #isRead = true;
  #open = true;

  constructor(resource: WatchedResource<T>, sink: WatchSink<T>, io: ProjectionIo, log: Log) {
    this.#log = log;
    this.#resource = resource;
    this.#io = io;
    this.#sink = sink;
    this.#known = new ObjectIndex(resource);
    this.#listed = new ObjectIndex(resource);
  }

  /** Whether the known objects are all that was shown. */
  get isRead(): boolean {
    return this.#isRead;
  }

  listBegins(): void {
    this.#isRead = true;
    this.#differences = 0;
    this.#listed = new ObjectIndex(this.#resource);
  }

  /** Publishes an item at once, so no complete list is kept in memory. */
  listItem(raw: unknown): void {
    const object = this.#resource.project(raw, this.#io);
    if (object === null) return;
    this.#listed.set(object);
    const known = this.#known.get(object);
    if (known === undefined || this.#resource.version(known) !== this.#resource.version(object)) this.#differences++;
    this.#changed(object);
  }

  /** Ends the list: known objects that it did not contain are gone. Returns how many objects it showed differently. */
  listEnds(): number {
    const listed = this.#listed;
    this.#known.forEach((last) => {
      if (listed.get(last) !== undefined) return;
      this.#differences++;
      this.#publishGone(last);
    });
    this.#known = listed;
    this.#listed = new ObjectIndex(this.#resource);
    return this.#differences;
  }

  /** Handles a line of the watch, which may have waited `waitedMs` to be read. */
  line(bytes: Uint8Array, waitedMs = 0): LineMeaning {
    const scanned = this.#resource.scan?.(bytes);
    if (scanned != null) {
      this.#changed(scanned.object, waitedMs);
      return { kind: "event", resourceVersion: scanned.resourceVersion };
    }
    const event = recordOf(parsed(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")));
    const object = recordOf(event.object);
    const resourceVersion = textOf(recordOf(object.metadata).resourceVersion);
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
        this.#project(object, (projection) => this.#changed(projection, waitedMs));
        return { kind: "event", resourceVersion };
      case "DELETED":
        this.#project(object, (projection) => this.#deleted(projection));
        return { kind: "event", resourceVersion };
      case "BOOKMARK":
        return { kind: "bookmark", resourceVersion };
      case "ERROR":
        return { kind: "error", refusal: errorOf(object) };
      default:
        this.#io.problem("watch line");
        return { kind: "malformed" };
    }
  }

  /** The object as last received; null when none is known. */
  held(namespace: string, name: string): T | null {
    return this.#known.named(namespace, name) ?? null;
  }

  publishState(state: WatchState): void {
    this.#publish(() => this.#sink.state(state));
  }

  /** Publishes that the API server does not serve the resource: every known object is gone. */
  publishAbsent(): void {
    this.listBegins();
    this.listEnds();
    this.#publish(() => this.#sink.absent?.());
  }

  /** Publishes nothing from now on. */
  close(): void {
    this.#open = false;
  }

  #project(raw: unknown, use: (projection: T) => void): void {
    const projection = this.#resource.project(raw, this.#io);
    if (projection === null) this.#isRead = false;
    else use(projection);
  }

  #changed(object: T, waitedMs = 0): void {
    const known = this.#known.get(object);
    // A new object under the same name: the deletion of the old one was missed.
    if (known !== undefined && this.#resource.uid(known) !== this.#resource.uid(object)) this.#publishGone(known);
    this.#known.set(object);
    this.#publish(() => this.#sink.changed(object, waitedMs));
  }

  #deleted(object: T): void {
    this.#known.delete(object);
    this.#publishGone(object);
  }

  #publishGone(last: T): void {
    const [namespace, name] = [this.#resource.namespace(last), this.#resource.name(last)];
    this.#publish(() => this.#sink.gone(namespace === "" ? name : `${namespace}/${name}`, last));
  }

  /** A sink that throws must not stop the watch. */
  #publish(send: () => void): void {
    if (!this.#open) return;
    try {
      send();
    } catch (error) {
      this.#io.problem("listener");
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#log.error("a listener of a watch threw", { detail });
    }
  }
}

/** Objects by namespace and name. Keys are the objects' own strings, so an entry costs no more than its slot. */
class ObjectIndex<T> {
  readonly #resource: WatchedResource<T>;
  readonly #namespaces = new Map<string, Map<string, T>>();

  constructor(resource: WatchedResource<T>) {
    this.#resource = resource;
  }

  get(object: T): T | undefined {
    return this.named(this.#resource.namespace(object), this.#resource.name(object));
  }

  named(namespace: string, name: string): T | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  set(object: T): void {
    const namespace = this.#resource.namespace(object);
    const names = this.#namespaces.get(namespace) ?? new Map<string, T>();
    this.#namespaces.set(namespace, names.set(this.#resource.name(object), object));
  }

  delete(object: T): void {
    const namespace = this.#resource.namespace(object);
    const names = this.#namespaces.get(namespace);
    names?.delete(this.#resource.name(object));
    if (names?.size === 0) this.#namespaces.delete(namespace);
  }

  forEach(visit: (object: T) => void): void {
    for (const names of this.#namespaces.values()) for (const object of names.values()) visit(object);
  }
}

function errorOf(status: Readonly<Record<string, unknown>>): Refusal {
  const code = typeof status.code === "number" ? status.code : 500;
  return refusalOf({ kind: "answer", status: code, headers: {}, text: JSON.stringify(status) });
}
