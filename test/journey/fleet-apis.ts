/** The API servers that a fleet can run on, embedded or real, and what each records of nodes, leases and pods. */
import { writeFileSync } from "node:fs";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Kube, Stop } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { deleteOptionsIn } from "../../services/sandbox/apiserver/http/bodies.ts";
import { type HttpFront, listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { FaultyApiServer } from "../support/faulty-apiserver.ts";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { writeKubeconfig } from "../support/kubectl.ts";
import { FleetRecord, type RecordedNode } from "./fleet-record.ts";

/** An API server of a fleet. */
export interface FleetApi {
  readonly record: FleetRecord;
  /** A client for kubelets and people. */
  readonly kube: Kube;
  /** The port that it listens on. */
  readonly port: number;
  /** Writes a kubeconfig that reaches it at a port of this machine. */
  writeKubeconfig(file: string, port: number): void;
  begin(): Promise<void>;
  end(): Promise<void>;
}

const IO = { clock: realClock(), random: systemRandom, log: silentLog, profile: STANDARD_PROFILE };

/**
 * The embedded API over HTTP. It records each change as it is stored, but a renewal at the time that the kubelet wrote:
 * from then on it may count, where an observer was too busy to read it at once.
 */
export class EmbeddedFleetApi implements FleetApi {
  readonly server = new FaultyApiServer({ clock: IO.clock, random: IO.random });
  readonly record = new FleetRecord();
  readonly kube = createKube({ ...IO, metrics: createMetrics(), wire: this.server.wire });
  #front: HttpFront | null = null;

  constructor() {
    const { store, faults } = this.server;
    store.collection("leases").listen(({ now }) => this.record.renewed(now.name, renewalOf(JSON.parse(now.json))));
    store.collection("nodes").listen(({ now }) => this.record.changed(now.name, recordedNode(JSON.parse(now.json))));
    faults.add({
      fault: { kind: "latency" },
      when: (call) => {
        if (call.verb !== "delete" || call.resource.plural !== "pods") return false;
        const pod = store.collection("pods").get(call.namespace, call.name);
        // A member that leaves and its successor may request one deletion: the server refuses the second as outdated.
        const { resourceVersion } = deleteOptionsIn(call);
        const isOutdated = pod !== undefined && resourceVersion !== null && resourceVersion !== `${pod.revision}`;
        if (!isOutdated) this.record.deleted(pod?.node ?? call.name);
        return false;
      },
    });
  }

  get port(): number {
    return Number(new URL(begun(this.#front).url).port);
  }

  writeKubeconfig(file: string, port: number): void {
    writeFileSync(file, kubeconfigOf("fleet", `http://127.0.0.1:${port}`));
  }

  async begin(): Promise<void> {
    this.#front = await listen(this.server, { port: 0 });
  }

  async end(): Promise<void> {
    await this.#front?.close();
  }
}

/** A real kube-apiserver. It records what watches show, and renewals as the embedded API does. */
export class RealFleetApi implements FleetApi {
  readonly record = new FleetRecord();
  #server: KubeApiserver | null = null;
  #kube: Kube | null = null;
  #stops: readonly Stop[] = [];

  get kube(): Kube {
    return begun(this.#kube);
  }

  get port(): number {
    return Number(new URL(begun(this.#server).url).port);
  }

  writeKubeconfig(file: string, port: number): void {
    const { adminToken: token, caFile } = begun(this.#server);
    writeKubeconfig(file, { server: `https://127.0.0.1:${port}`, token, caFile });
  }

  async begin(): Promise<void> {
    this.#server = await startKubeApiserver();
    const kube = createKube({ ...IO, metrics: createMetrics(), wire: this.#server.wire() });
    this.#kube = kube;
    this.#stops = this.#watches(kube).map((watch) => () => watch.stop());
  }

  async end(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#server?.stop();
  }

  #watches(kube: Kube) {
    const { record } = this;
    const terminating = new Set<string>();
    const ignored = { gone: () => {}, state: () => {} };
    return [
      kube.watch("nodes", { ...ignored, changed: (node) => record.changed(node.node, observedNode(node)) }),
      kube.watch("leases", {
        ...ignored,
        changed: ({ node, renewedAt }) => {
          if (renewedAt !== null) record.renewed(node, renewedAt);
        },
      }),
      kube.watch("pods", {
        ...ignored,
        changed: ({ node, pod }) => {
          if (pod.deletionAt === null || terminating.has(pod.uid)) return;
          terminating.add(pod.uid);
          record.deleted(node);
        },
      }),
    ];
  }
}

/** A node as the API shows it, as far as the record reads it. */
interface ShownNode {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly taints?: ObservedNode["taints"] };
  readonly status?: { readonly conditions?: readonly Pick<ObservedNode["conditions"][number], "type" | "status">[] };
}

function renewalOf({ spec }: { spec: { renewTime: string } }): number {
  return Date.parse(spec.renewTime);
}

function recordedNode({ metadata, spec, status }: ShownNode): RecordedNode {
  const { labels = {} } = metadata;
  return observedNode({ labels, taints: spec?.taints ?? [], conditions: status?.conditions ?? [] });
}

function observedNode({
  labels,
  taints,
  conditions,
}: Pick<ObservedNode, "labels" | "taints"> & Required<NonNullable<ShownNode["status"]>>): RecordedNode {
  return {
    zone: labels["topology.kubernetes.io/zone"] ?? "",
    isUnknown: conditions.some(({ type, status }) => type === "Ready" && status === "Unknown"),
    noExecute: taints.filter(({ effect }) => effect === "NoExecute"),
  };
}

function begun<T>(part: T | null): T {
  if (part === null) throw new Error("the API server has not been started yet");
  return part;
}
