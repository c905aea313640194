/**
 * The provisions of the Kubernetes API contract: a server, and a plain client that shows its raw answers without
 * expectations.
 */
import type { KubeObject, Wire } from "../../protocols/ports.ts";
import type { KubectlResult } from "../support/kubectl.ts";

/** A server under contract. */
export interface ProvidedServer {
  /** A wire of a user with every right. */
  readonly wire: Wire;
  /** Makes the server forget its history: older watches and continue tokens expire. */
  compact(): Promise<void>;
  stop(): Promise<void>;
}

/** A server with an address. */
export interface AddressedServer extends ProvidedServer {
  /** A wire with this bearer token. */
  wireWith(token: string): Wire;
  kubectl(...args: string[]): Promise<KubectlResult>;
}

/** One whole answer. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as an object; after a failure it is a Status. */
  readonly object: KubeObject;
}

/** One event of a watch. */
export interface RawEvent {
  readonly type: string;
  readonly object: KubeObject;
}

/** The three ways to patch. */
export type PatchKind = "strategic-merge-patch" | "merge-patch" | "json-patch";

const WAIT_MS = 20_000;

/** Sends plain HTTP over a wire. */
export class RawClient {
  readonly #wire: Wire;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  get(path: string, accept = "application/json"): Promise<RawAnswer> {
    return this.#send("GET", path, { accept }, undefined);
  }

  post(path: string, body: unknown): Promise<RawAnswer> {
    return this.#send("POST", path, json, body);
  }

  put(path: string, body: unknown): Promise<RawAnswer> {
    return this.#send("PUT", path, json, body);
  }

  patch(path: string, kind: PatchKind, body: unknown): Promise<RawAnswer> {
    return this.#send("PATCH", path, { ...json, "content-type": `application/${kind}+json` }, body);
  }

  /** A server-side apply, by this manager unless the name is empty. */
  apply(path: string, body: unknown, manager = "contract"): Promise<RawAnswer> {
    const headers = { ...json, "content-type": "application/apply-patch+yaml" };
    return this.#send("PATCH", `${path}?fieldManager=${manager}`, headers, body);
  }

  delete(path: string, options?: Readonly<Record<string, unknown>>): Promise<RawAnswer> {
    const body = options === undefined ? undefined : { kind: "DeleteOptions", apiVersion: "v1", ...options };
    return this.#send("DELETE", path, json, body);
  }

  /** Opens a watch and resolves when the server has accepted or refused it. */
  async watch(path: string): Promise<RawWatch> {
    const watch = new RawWatch(this.#wire, path);
    await watch.accepted;
    return watch;
  }

  #send(method: string, path: string, headers: Record<string, string>, body: unknown): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = [];
      let head = { status: 0, headers: {} as Readonly<Record<string, string>> };
      this.#wire.send(
        { method, path, headers, body: body === undefined ? null : JSON.stringify(body) },
        {
          response: (status, received) => {
            head = { status, headers: received };
          },
          data: (chunk) => chunks.push(chunk),
          end: () => resolve({ ...head, object: objectIn(head.headers, Buffer.concat(chunks).toString()) }),
          failed: ({ message }) => reject(new Error(`${method} ${path}: ${message}`)),
        },
      );
    });
  }
}

/** The object in a body; an empty one if the body is plain text, as that of an unknown path. */
function objectIn(headers: Readonly<Record<string, string>>, body: string): KubeObject {
  const isText = headers["content-type"]?.startsWith("text/plain") === true;
  return JSON.parse(isText || body === "" ? "{}" : body) as KubeObject;
}

const json = { accept: "application/json", "content-type": "application/json" };

/** A watch whose events are collected. */
export class RawWatch {
  readonly events: RawEvent[] = [];
  /** Resolves with the HTTP status. */
  readonly accepted: Promise<number>;
  /** Resolves when the server has ended the watch. */
  readonly ended: Promise<void>;
  readonly #exchange: { abort(): void };
  #rest = "";
  #changed: () => void = () => {};

  constructor(wire: Wire, path: string) {
    const accepted = Promise.withResolvers<number>();
    const ended = Promise.withResolvers<void>();
    this.accepted = accepted.promise;
    this.ended = ended.promise;
    this.#exchange = wire.send(
      { method: "GET", path, headers: { accept: "application/json" }, body: null },
      {
        response: (status) => accepted.resolve(status),
        data: (chunk) => this.#take(chunk),
        end: () => ended.resolve(),
        failed: () => ended.resolve(),
      },
    );
  }

  /** The first matching event, past or future; fails after a while. */
  event(fits: (event: RawEvent) => boolean, withinMs = WAIT_MS): Promise<RawEvent> {
    return new Promise((resolve, reject) => {
      const seen = (): string => this.events.map(({ type, object }) => `${type} ${object.metadata.name}`).join(", ");
      const late = setTimeout(() => reject(new Error(`no such event; there were: ${seen()}`)), withinMs);
      const look = (): void => {
        const found = this.events.find(fits);
        if (found === undefined) return;
        clearTimeout(late);
        resolve(found);
      };
      this.#changed = look;
      look();
    });
  }

  close(): void {
    this.#exchange.abort();
  }

  #take(chunk: Uint8Array): void {
    const lines = (this.#rest + Buffer.from(chunk).toString()).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") this.events.push(JSON.parse(line) as RawEvent);
    this.#changed();
  }
}

/** A node with this name. */
export function nodeNamed(name: string, fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { apiVersion: "v1", kind: "Node", metadata: { name }, ...fields };
}

/** A pod with this name in the namespace `default`, bound to a node when one is given. */
export function podNamed(name: string, nodeName?: string): Record<string, unknown> {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: { containers: [{ name: "c", image: "i" }], ...(nodeName === undefined ? {} : { nodeName }) },
  };
}

/** The path of a node or, with `sub`, of its subresource. */
export function nodePath(name: string, sub = ""): string {
  return `/api/v1/nodes/${name}${sub}`;
}

/** The path of a pod in the namespace `default`. */
export function podPath(name: string, sub = ""): string {
  return `/api/v1/namespaces/default/pods/${name}${sub}`;
}
