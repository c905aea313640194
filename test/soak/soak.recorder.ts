/**
 * The recorder of the soak: watches nodes and pods with the public Kubernetes client, so that the checks of the rules
 * do not depend on Vigil's code.
 */
import {
  CoordinationV1Api,
  CoreV1Api,
  type Informer,
  KubeConfig,
  type KubernetesObject,
  makeInformer,
  type V1Lease,
  type V1Node,
  type V1Pod,
} from "@kubernetes/client-node";
import type { FinalNode, SeenTaint } from "./soak.rules.ts";

/** A verdict, as the condition's own stamp dates it; epoch milliseconds. */
export interface SeenVerdict {
  readonly node: string;
  readonly atMs: number;
  /** The last renewal of the node's lease that the API had shown at that time; NaN before the first. */
  readonly renewedMs: number;
}
/** The first observation of a pod whose deletion was requested. */
export interface SeenDeletion {
  readonly pod: string;
  readonly node: string;
  readonly atMs: number;
}

/** How long the client waits before it lists and watches again after its watch has broken. */
const RESTART_MS = 500;
const LEASES = "kube-node-lease";
const LIFECYCLE_KEYS = new Set(["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"]);
const UNKNOWN_REASONS = new Set(["NodeStatusUnknown", "NodeStatusNeverUpdated"]);

/** What the API has shown since the recorder started. */
export class SoakRecorder {
  readonly verdicts: SeenVerdict[] = [];
  readonly deletions: SeenDeletion[] = [];
  /** Every NoExecute taint of the lifecycle that was added, once. */
  readonly taints: SeenTaint[] = [];
  readonly #nodes = new Map<string, V1Node>();
  readonly #pods = new Map<string, V1Pod>();
  readonly #renewedMs = new Map<string, number>();
  readonly #seen = new Set<string>();
  readonly #stops: (() => Promise<void>)[] = [];

  async start(kubeconfig: string): Promise<void> {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    const api = config.makeApiClient(CoreV1Api);
    const nodes = makeInformer(config, "/api/v1/nodes", () => api.listNode());
    for (const event of ["add", "update"] as const) nodes.on(event, (node) => this.#onNode(node));
    nodes.on("delete", (node) => this.#nodes.delete(nameOf(node)));
    const pods = makeInformer(config, "/api/v1/pods", () => api.listPodForAllNamespaces());
    for (const event of ["add", "update"] as const) pods.on(event, (pod) => this.#onPod(pod));
    pods.on("delete", (pod) => this.#onPodGone(pod));
    const coordination = config.makeApiClient(CoordinationV1Api);
    const leases = makeInformer(config, `/apis/coordination.k8s.io/v1/namespaces/${LEASES}/leases`, () =>
      coordination.listNamespacedLease({ namespace: LEASES }),
    );
    for (const event of ["add", "update"] as const) leases.on(event, (lease) => this.#onLease(lease));
    this.#keep(nodes);
    this.#keep(pods);
    this.#keep(leases);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
  }

  /** Names of the nodes with a pod whose deletion was not requested. */
  furnished(): Set<string> {
    return new Set([...this.#pods.values()].filter(isStaying).map((pod) => pod.spec?.nodeName ?? ""));
  }

  get pods(): number {
    return this.#pods.size;
  }

  /** Every node in its present state. */
  final(): FinalNode[] {
    const staying = Map.groupBy([...this.#pods.values()].filter(isStaying), (pod) => pod.spec?.nodeName ?? "");
    return [...this.#nodes.values()].map((node) => ({
      name: nameOf(node),
      ready: readyOf(node)?.status ?? null,
      taints: (node.spec?.taints ?? [])
        .filter(({ key }) => LIFECYCLE_KEYS.has(key))
        .map(({ key, effect }) => `${key}:${effect}`),
      staying: (staying.get(nameOf(node)) ?? []).map(nameOf),
    }));
  }

  /** Runs an informer, and starts it again after its watch has broken. */
  #keep<T extends KubernetesObject>(informer: Informer<T>): void {
    let isStopped = false;
    const start = (): void => {
      if (!isStopped) void informer.start().catch(restart);
    };
    const restart = (): void => {
      setTimeout(start, RESTART_MS);
    };
    informer.on("error", restart);
    this.#stops.push(async () => {
      isStopped = true;
      await informer.stop();
    });
    start();
  }

  #onLease({ metadata, spec }: V1Lease): void {
    this.#renewedMs.set(metadata?.name ?? "", epochMs(spec?.renewTime));
  }

  #onNode(node: V1Node): void {
    const name = nameOf(node);
    this.#nodes.set(name, node);
    const ready = readyOf(node);
    const unknownMs = epochMs(ready?.lastTransitionTime);
    const isVerdict = ready?.status === "Unknown" && UNKNOWN_REASONS.has(ready.reason ?? "");
    if (isVerdict && this.#isNew(`verdict ${name} ${unknownMs}`)) {
      this.verdicts.push({ node: name, atMs: unknownMs, renewedMs: this.#renewedMs.get(name) ?? Number.NaN });
    }
    for (const { key, effect, timeAdded } of node.spec?.taints ?? []) {
      const addedMs = epochMs(timeAdded);
      if (effect !== "NoExecute" || !LIFECYCLE_KEYS.has(key) || !this.#isNew(`taint ${name} ${key} ${addedMs}`))
        continue;
      const zone = node.metadata?.labels?.["topology.kubernetes.io/zone"] ?? "";
      this.taints.push({ node: name, zone, key, addedMs });
    }
  }

  #onPod(pod: V1Pod): void {
    const { uid = "", deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata ?? {};
    this.#pods.set(uid, pod);
    if (deletionTimestamp === undefined || !this.#isNew(`deletion ${uid}`)) return;
    const atMs = epochMs(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
    this.deletions.push({ pod: nameOf(pod), node: pod.spec?.nodeName ?? "", atMs });
  }

  #onPodGone(pod: V1Pod): void {
    this.#onPod(pod);
    this.#pods.delete(pod.metadata?.uid ?? "");
  }

  #isNew(key: string): boolean {
    const isNew = !this.#seen.has(key);
    this.#seen.add(key);
    return isNew;
  }
}

function nameOf({ metadata }: V1Node | V1Pod): string {
  return metadata?.name ?? "";
}

function readyOf(node: V1Node) {
  return node.status?.conditions?.find(({ type }) => type === "Ready");
}

/** An API time in epoch milliseconds; lists contain a Date, watches text. */
function epochMs(time: Date | string | undefined): number {
  return time === undefined ? Number.NaN : new Date(time).getTime();
}

function isStaying(pod: V1Pod): boolean {
  return pod.metadata?.deletionTimestamp === undefined;
}
