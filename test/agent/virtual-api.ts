/**
 * The embedded API and a client of it on virtual time, with every request noted: what the agent's tests run against.
 */
import type { HttpRequest, Kube, Wire } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import type { NodeObject } from "../../services/agent/node-object.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { FaultyApiServer } from "../support/faulty-apiserver.ts";
import { seededRandom } from "../support/random.seeded.ts";
import { recordingLog } from "../support/recording-log.ts";

/** A request as it left, with the instant on the monotonic clock. */
export interface NotedRequest extends HttpRequest {
  readonly atMs: number;
}

/** An object as the API shows it. */
export type Shown = NodeObject & { readonly [field: string]: unknown };

/** The embedded API on a clock moved by hand. */
export class VirtualApi {
  readonly clock = new VirtualClock();
  readonly log = recordingLog();
  readonly metrics = createMetrics();
  readonly random = seededRandom(7);
  readonly server = new FaultyApiServer({ clock: this.clock, random: this.random });
  readonly requests: NotedRequest[] = [];
  readonly wire: Wire = {
    send: (request, exchange) => {
      this.requests.push({ ...request, atMs: this.clock.monotonicMs() });
      return this.server.wire.send(request, exchange);
    },
  };
  readonly kube: Kube;

  constructor() {
    const { wire, clock, log, random, metrics } = this;
    this.kube = createKube({ wire, clock, random, log, metrics, profile: STANDARD_PROFILE });
  }

  /** What was sent since the last call of `forget`, as `METHOD path`. */
  sent(filter = ""): string[] {
    return this.requests.map(({ method, path }) => `${method} ${path}`).filter((line) => line.includes(filter));
  }

  forget(): void {
    this.requests.length = 0;
  }

  /** An object at a path; undefined when there is none. */
  get(path: string): Shown | undefined {
    const { status, body } = this.send("GET", path);
    return status === 200 ? body : undefined;
  }

  node(name = "node-1"): Shown | undefined {
    return this.get(`/api/v1/nodes/${name}`);
  }

  lease(name = "node-1"): Shown | undefined {
    return this.get(`/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`);
  }

  /** Reasons of all Events, oldest first. */
  events(): string[] {
    return this.#events().map(({ reason }) => reason);
  }

  /** The count of an Event. */
  eventCount(reason: string): number {
    return this.#events().find((event) => event.reason === reason)?.count ?? 0;
  }

  /** Status and reason of a node's condition. */
  condition(type: string, name = "node-1"): { status: string; reason?: string; message?: string } | undefined {
    return this.node(name)?.status?.conditions?.find((condition) => condition.type === type);
  }

  send(method: string, path: string, body?: unknown): { status: number; body: Shown } {
    let status = 0;
    let text = "";
    const headers = { "content-type": "application/strategic-merge-patch+json" };
    this.server.wire.send(
      {
        method,
        path,
        headers: method === "PATCH" ? headers : {},
        body: body === undefined ? null : JSON.stringify(body),
      },
      {
        response: (code) => {
          status = code;
        },
        data: (chunk) => {
          text += Buffer.from(chunk).toString();
        },
        end: () => {},
        failed: ({ message }) => {
          throw new Error(message);
        },
      },
    );
    this.clock.advance(0);
    return { status, body: JSON.parse(text) as Shown };
  }

  #events(): readonly { readonly reason: string; readonly count: number }[] {
    const list = this.get("/api/v1/namespaces/default/events") as { items?: { reason: string; count: number }[] };
    return list.items ?? [];
  }
}
