/** An embedded API on virtual time and a plain client for it, for the tests of this folder. */
import type { HttpRequest, KubeObject, Wire } from "../../../protocols/ports.ts";
import type { JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import type { ApiServerOptions } from "../../../services/sandbox/apiserver/apiserver.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { FaultyApiServer } from "../../support/faulty-apiserver.ts";
import { seededRandom } from "../../support/random.seeded.ts";

/** The start of the virtual wall clocks. */
export const START_MS = Date.UTC(2026, 0, 1);

/** One whole response; `object` is the parsed body. */
export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly object: KubeObject;
}

/** A request in flight and its events. */
export class Pending {
  status: number | null = null;
  headers: Readonly<Record<string, string>> = {};
  text = "";
  ended = false;
  broken: { readonly message: string; readonly sent: boolean } | null = null;
  abort: () => void = () => undefined;

  constructor(wire: Wire, request: HttpRequest) {
    const sent = wire.send(request, {
      response: (status, headers) => {
        this.status = status;
        this.headers = headers;
      },
      data: (chunk) => {
        this.text += Buffer.from(chunk).toString();
      },
      end: () => {
        this.ended = true;
      },
      failed: (problem) => {
        this.broken = problem;
      },
    });
    this.abort = () => sent.abort();
  }

  /** The events of a watch so far. */
  get events(): { readonly type: string; readonly object: KubeObject }[] {
    return this.text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  }
}

/** A body's media types by the names that tests use. */
const TYPES = {
  json: "application/json",
  strategic: "application/strategic-merge-patch+json",
  merge: "application/merge-patch+json",
  patch: "application/json-patch+json",
} as const;

/** An embedded API with its clock. */
export class Embedded {
  readonly clock = new VirtualClock({ wallMs: START_MS });
  readonly api: FaultyApiServer;

  constructor(options: Partial<ApiServerOptions> = {}) {
    this.api = new FaultyApiServer({ clock: this.clock, random: seededRandom(1), ...options });
  }

  /** Sends a request and leaves it under way. */
  begin(method: string, path: string, body?: unknown, type: keyof typeof TYPES = "json", headers = {}): Pending {
    return new Pending(this.api.wire, {
      method,
      path,
      headers: { "content-type": TYPES[type], ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    });
  }

  /** Sends a request and takes its answer, which must come without time passing. */
  ask(method: string, path: string, body?: unknown, type: keyof typeof TYPES = "json", headers = {}): Answered {
    const pending = this.begin(method, path, body, type, headers);
    this.clock.advance(0);
    if (!pending.ended || pending.status === null) throw new Error(`${method} ${path} was not answered`);
    const { status, headers: answered, text } = pending;
    return { status, headers: answered, text, object: text.startsWith("{") ? JSON.parse(text) : null };
  }

  /** Opens a watch. */
  watch(path: string): Pending {
    const pending = this.begin("GET", path);
    this.clock.advance(0);
    return pending;
  }
}

/** A node to create. */
export function node(name: string, labels: Record<string, string> = {}): JsonObject {
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels } };
}

/** A pod to create, on a node unless that is "". */
export function pod(name: string, nodeName = "", more: { metadata?: JsonObject; spec?: JsonObject } = {}): JsonObject {
  const bound = nodeName === "" ? {} : { nodeName };
  const spec = { containers: [{ name: "main", image: "registry.example/app:1" }], ...bound, ...more.spec };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, ...more.metadata }, spec };
}

/** A lease to create. */
export function lease(name: string, renewTime: string): JsonObject {
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name }, spec };
}

/** Where pods and leases of these tests are. */
export const PODS = "/api/v1/namespaces/default/pods";
/** Where leases of these tests are. */
export const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** The names in a list, in its order. */
export function namesIn({ object }: Answered): string[] {
  return (object.items as KubeObject[]).map(({ metadata }) => metadata.name);
}
