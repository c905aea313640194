/** The nodes and pods of one incident on a cluster, and how each of its steps is done. */
import { setTimeout as pause } from "node:timers/promises";
import { LEASE_NAMESPACE } from "../../../protocols/names.ts";
import { type Clock, type Kube, Urgency, type WriteRequest } from "../../../protocols/ports.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { write } from "../../support/kube-probe.ts";
import { TestKubelet } from "../../support/test-kubelet.ts";
import { until } from "../../support/until.ts";
import type { Actions } from "../incident.ts";
import type { Drawn, DrawnIncident } from "./draw.ts";
import type { IncidentCluster, ListedObject } from "./incident-cluster.ts";
import type { PlayedNode, UserTaint } from "./judge.ts";

const ZONE_LABEL = "topology.kubernetes.io/zone";
const LOSS_KEYS = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
/** How long a step waits for a state of the nodes, beside a grace; healing needs none. */
const WAIT_SECONDS = { tainted: 28, evicted: 28, well: 3 };
const OPEN_MS = 40_000;
/** How long a look at all nodes takes the API server, at most, and how long one takes to join, in milliseconds each. */
const NODE_MS = { look: 1, join: 20 };
/** Nodes that register in the same instant, and what time the next ones leave them. */
const JOINING = { nodes: 50, pauseMs: 100 };
const LOG_CHARACTERS_MAX = 3_000;
/** How often a kubelet compares the status of its node: 10 s of upstream's are 4 s here. */
const REFUTE_MS = 4_000;
const MIRROR_CHECK_MS = 300;
const MIRROR_ANNOTATIONS = { "kubernetes.io/config.mirror": "hash", "kubernetes.io/config.source": "file" };

/** A node, its kubelet and its pod. */
interface StagedNode {
  readonly name: string;
  readonly group: string;
  readonly kubelet: TestKubelet;
  readonly pod: string | null;
  readonly isMirror: boolean;
  readonly tolerates: Map<string, number>;
  readonly userTaints: UserTaint[];
  silentAt: number | null;
  /** How far the node's clock is ahead. */
  readonly skew: { ms: number };
  /** When its kubelet last sent something. */
  readonly heard: { at: number };
  /** Whether its kubelet posts when it finds its node unknown: not while a step decides when it posts. */
  refutes: boolean;
  replacement: TestKubelet | null;
}

type Drawns = { readonly [K in keyof Actions]: Drawn<Actions[K]> };
type Does = { readonly [K in keyof Actions]: (value: Drawns[K]) => Promise<void> | void };

type Holds = (nodes: readonly StagedNode[]) => Promise<boolean>;

/** One incident's nodes; begun with `open`, and every step is done with `act`. */
export class Stage {
  readonly incident: DrawnIncident;
  /** What the incident waited for in vain. */
  readonly missed: string[] = [];
  readonly #cluster: IncidentCluster;
  readonly #nodes: readonly StagedNode[];
  readonly #does: Does;
  readonly #loops: NodeJS.Timeout[] = [];

  constructor(cluster: IncidentCluster, incident: DrawnIncident) {
    this.#cluster = cluster;
    this.incident = incident;
    this.#nodes = Object.entries(incident.groups).flatMap(([group, { nodes }]) =>
      Array.from({ length: nodes }, (_, index) => this.#stagedNode(group, index)),
    );
    this.#does = { ...this.#doesToNodes(), ...this.#doesForUsers(), ...this.#doesToServers() };
  }

  /** Registers the nodes and waits until the controller has found them well; then creates their pods. */
  async open(): Promise<void> {
    for (const [index, { kubelet }] of this.#nodes.entries()) {
      kubelet.register();
      if (index % JOINING.nodes === JOINING.nodes - 1) await pause(JOINING.pauseMs);
    }
    const what = () => `all are well\n${this.#cluster.log().slice(-LOG_CHARACTERS_MAX)}`;
    await until(what, () => this.#areWell(this.#nodes), this.#within(OPEN_MS));
    await Promise.all(this.#nodes.map((node) => this.#createPod(node)));
    this.#loops.push(setInterval(() => void this.#refuteUnknown(), Math.max(REFUTE_MS, this.#lookMs)));
    if (this.#nodes.some(({ isMirror }) => isMirror)) this.#keepMirrors();
  }

  /** Does everything of one step. */
  async act(step: Partial<Drawns>): Promise<void> {
    for (const [action, value] of Object.entries(step)) {
      await (this.#does[action as keyof Actions] as (value: unknown) => Promise<void> | void)(value);
    }
  }

  /** Waits for the deletion of the pods of groups; resolves with whether it came. */
  evicts(groups: readonly string[]): Promise<boolean> {
    return this.#reaches("evicted", groups, (nodes) => this.#areEvicted(nodes));
  }

  /** The nodes as the judge reads them. */
  played(): PlayedNode[] {
    return this.#nodes.map(({ name, group, silentAt, pod, tolerates, userTaints }) => ({
      name,
      group,
      silentAt,
      pod,
      tolerates,
      userTaints,
    }));
  }

  /** Ends all kubelets. */
  close(): void {
    for (const loop of this.#loops) clearInterval(loop);
    for (const { kubelet, replacement } of this.#nodes) {
      kubelet.stop();
      replacement?.stop();
    }
  }

  /** How often all nodes are looked at: a large cluster has better things to do. */
  get #lookMs(): number {
    return this.#nodes.length * NODE_MS.look;
  }

  #within(ms: number, everyMs = 500): { readonly withinMs: number; readonly everyMs: number } {
    return { withinMs: ms + this.#nodes.length * NODE_MS.join, everyMs: Math.max(everyMs, this.#lookMs) };
  }

  #stagedNode(group: string, index: number): StagedNode {
    const { zone = "a", pod, behindLoadBalancer = false } = this.incident.groups[group] ?? { nodes: 0 };
    const name = `${this.incident.name}-${group}-${index}`;
    const skew = { ms: 0 };
    const clock: Clock = { ...realClock(), wallMs: () => Date.now() + skew.ms };
    const kube = behindLoadBalancer ? this.#cluster.balancedKube : this.#cluster.kube;
    const heard = { at: Date.now() };
    const kubelet = new TestKubelet(noting(kube, heard), clock, {
      name,
      leasePeriodMs: this.#leasePeriodMs,
      statusPeriodMs: null,
      labels: { [ZONE_LABEL]: this.#zone(zone) },
    });
    const ofLoss = pod?.toleratesLoss === undefined ? [] : LOSS_KEYS.map((key) => [key, pod.toleratesLoss] as const);
    return {
      name,
      group,
      kubelet,
      pod: pod === undefined ? null : `on-${name}`,
      isMirror: pod?.isMirror ?? false,
      tolerates: new Map([...ofLoss, ...Object.entries(pod?.tolerates ?? {})] as [string, number][]),
      userTaints: [],
      silentAt: null,
      skew,
      heard,
      refutes: true,
      replacement: null,
    };
  }

  #doesToNodes() {
    const each = (act: (node: StagedNode) => void) => (groups: readonly string[]) => this.#of(groups).forEach(act);
    return {
      silence: each((node) => {
        node.silentAt ??= node.heard.at;
        node.refutes = false;
        node.kubelet.stop();
      }),
      renew: each(({ kubelet }) => kubelet.resume()),
      post: each((node) => {
        node.refutes = true;
        node.kubelet.post();
      }),
      recover: each((node) => {
        node.refutes = true;
        node.kubelet.resume();
        node.kubelet.post();
      }),
      report: ({ ready, of }: Drawns["report"]) => each(({ kubelet }) => kubelet.report("Ready", ready))(of),
      moveClock: ({ of, seconds }: Drawns["moveClock"]) =>
        each((node) => {
          node.skew.ms += seconds * 1000;
        })(of),
      twoMachinesPost: async ({ of, times, everySeconds }: Drawns["twoMachinesPost"]) => {
        for (let turn = 0; turn < times * 2; turn++) {
          for (const { kubelet } of this.#of(of)) kubelet.report("Ready", turn % 2 === 0 ? "False" : "True");
          await pause(everySeconds * 1000);
        }
      },
      registerAgain: (groups: readonly string[]) => this.#each(groups, (node) => this.#registerAgain(node)),
      replaceMachines: (groups: readonly string[]) => this.#each(groups, (node) => this.#replaceMachine(node)),
      silenceReplacements: each((node) => {
        node.silentAt ??= Date.now();
        node.refutes = false;
        node.replacement?.stop();
      }),
      untilTainted: (groups: readonly string[]) => this.#await("tainted", groups, (nodes) => this.#areTainted(nodes)),
      untilDeleted: async (groups: readonly string[]) => void (await this.evicts(groups)),
      untilWell: (groups: readonly string[]) => this.#await("well", groups, (nodes) => this.#areWell(nodes)),
    };
  }

  #doesForUsers() {
    return {
      taint: ({ key, of }: Drawns["taint"]) =>
        this.#each(of, async (node) => {
          node.userTaints.push({ key, at: Date.now() });
          const body = { spec: { taints: [{ key, effect: "NoExecute" }] } };
          await this.#write({ ...nodeWrite(node.name), verb: "patch", patch: "strategic", body });
        }),
      untaint: (groups: readonly string[]) =>
        this.#each(groups, async (node) => {
          node.userTaints.length = 0;
          await this.#patchNode(node.name, { spec: { taints: [] } });
        }),
      moveToZone: ({ zone, of }: Drawns["moveToZone"]) =>
        this.#each(of, ({ name }) =>
          this.#patchNode(name, { metadata: { labels: { [ZONE_LABEL]: this.#zone(zone) } } }),
        ),
      tolerate: ({ key, seconds, of }: Drawns["tolerate"]) =>
        this.#each(of, async (node) => {
          node.tolerates.set(key, seconds);
          const { spec } = (await this.#cluster.request("GET", pathOf(node))) as ListedObject;
          const changed = (spec?.tolerations ?? []).map((toleration) =>
            toleration.key === key ? { ...toleration, tolerationSeconds: seconds } : toleration,
          );
          await this.#cluster.request("PATCH", pathOf(node), { spec: { tolerations: changed } });
        }),
      observe: () => {},
    };
  }

  #doesToServers() {
    const cluster = this.#cluster;
    const inTurn =
      <T>(act: (part: T) => Promise<void> | void) =>
      async (parts: readonly T[]) => {
        for (const part of parts) await act(part);
      };
    return {
      refuse: (what: Drawns["refuse"]) => cluster.refuse(what),
      allow: (what: Drawns["allow"]) => cluster.allow(what),
      kill: inTurn<Drawns["kill"][number]>((part) => cluster.kill(part)),
      start: inTurn<Drawns["start"][number]>((part) => cluster.start(part)),
      freeze: inTurn<Drawns["freeze"][number]>((part) => cluster.freeze(part)),
      thaw: inTurn<Drawns["thaw"][number]>((part) => cluster.thaw(part)),
      controllerPath: (state: Drawns["controllerPath"]) => cluster.path("controller", state),
      loadBalancer: (state: Drawns["loadBalancer"]) => cluster.path("loadBalancer", state),
      age: (seconds: number) => cluster.age(seconds),
      backUp: () => cluster.backUp(),
      restore: (seconds: number) => cluster.restore(seconds),
      writeOn: (groups: readonly string[]) =>
        cluster.writeOn(() => {
          for (const { kubelet } of this.#of(groups)) kubelet.resume();
        }),
    };
  }

  async #createPod({ name: nodeName, pod, isMirror, tolerates }: StagedNode): Promise<void> {
    if (pod === null) return;
    const tolerations = [...tolerates].map(([key, tolerationSeconds]) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds,
    }));
    const metadata = { name: pod, namespace: "default", ...(isMirror && { annotations: MIRROR_ANNOTATIONS }) };
    const spec = { nodeName, tolerations, containers: [{ name: "c", image: "none" }] };
    const body = { apiVersion: "v1", kind: "Pod", metadata, spec };
    const ref = { kind: "Pod" as const, namespace: "default", name: pod };
    await this.#write({ ref, urgency: Urgency.status, verb: "create", body });
  }

  /** Plays the kubelets of static pods: ends deleted mirrors and creates them again. */
  #keepMirrors(): void {
    const keep = async () => {
      const { items } = await this.#cluster.list("pods").catch(() => ({ items: null }));
      if (items === null) return;
      for (const node of this.#nodes.filter(({ isMirror }) => isMirror)) {
        const shown = items.find(({ metadata }) => metadata.name === node.pod);
        if (shown?.metadata.deletionTimestamp !== undefined) {
          await this.#cluster.request("DELETE", pathOf(node), { gracePeriodSeconds: 0 }).catch(() => null);
        } else if (shown !== undefined) continue;
        await this.#createPod(node).catch(() => {});
      }
    };
    this.#loops.push(setInterval(() => void keep(), MIRROR_CHECK_MS));
  }

  /** Kubelets that run post their status when they find another one of their node. */
  async #refuteUnknown(): Promise<void> {
    const { items } = await this.#cluster.list("nodes").catch(() => ({ items: [] }));
    const isUnknown = ({ status }: ListedObject) =>
      status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "Unknown") ?? false;
    const unknown = new Set(items.filter(isUnknown).map(nameOf));
    for (const { name, kubelet, refutes } of this.#nodes) if (refutes && unknown.has(name)) kubelet.post();
  }

  async #registerAgain({ name, kubelet }: StagedNode): Promise<void> {
    kubelet.stop();
    await this.#cluster.request("DELETE", `/api/v1/nodes/${name}`);
    kubelet.register();
  }

  async #replaceMachine(node: StagedNode): Promise<void> {
    const { name } = node;
    const { metadata } = (await this.#cluster.request("GET", `/api/v1/nodes/${name}`)) as ListedObject;
    const owner = { apiVersion: "v1", kind: "Node", name, uid: metadata.uid };
    const lease = `/apis/coordination.k8s.io/v1/namespaces/${LEASE_NAMESPACE}/leases/${name}`;
    await this.#cluster.request("PATCH", lease, { metadata: { ownerReferences: [owner] } });
    await this.#cluster.request("DELETE", `/api/v1/nodes/${name}`);
    const options = { name, leasePeriodMs: null, statusPeriodMs: this.#leasePeriodMs };
    node.replacement = new TestKubelet(noting(this.#cluster.kube, node.heard), realClock(), options);
    node.replacement.register();
  }

  /** Waits for a state of the cluster; a controller that does not reach it has missed that. */
  async #await(what: keyof typeof WAIT_SECONDS, groups: readonly string[], holds: Holds): Promise<void> {
    if (!(await this.#reaches(what, groups, holds)))
      this.missed.push(`not ${what} within ${this.#waitSeconds(what)} s`);
  }

  #reaches(what: keyof typeof WAIT_SECONDS, groups: readonly string[], holds: Holds): Promise<boolean> {
    const nodes = this.#of(groups);
    return until(what, () => holds(nodes), this.#within(this.#waitSeconds(what) * 1000, 250)).then(
      () => true,
      () => false,
    );
  }

  #waitSeconds(what: keyof typeof WAIT_SECONDS): number {
    return WAIT_SECONDS[what] + this.#cluster.periods.graceSeconds;
  }

  async #areTainted(nodes: readonly StagedNode[]): Promise<boolean> {
    const isUnreachable = ({ key, effect }: { key: string; effect: string }) =>
      key.endsWith("/unreachable") && effect === "NoExecute";
    const { items } = await this.#cluster.list("nodes");
    const tainted = new Set(items.filter(({ spec }) => spec?.taints?.some(isUnreachable)).map(nameOf));
    return nodes.every(({ name }) => tainted.has(name));
  }

  async #areEvicted(nodes: readonly StagedNode[]): Promise<boolean> {
    const { items } = await this.#cluster.list("pods");
    const running = new Set(items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).map(nameOf));
    return nodes.every(({ pod }) => pod === null || !running.has(pod));
  }

  async #areWell(nodes: readonly StagedNode[]): Promise<boolean> {
    const { items } = await this.#cluster.list("nodes");
    const well = new Set(items.filter(({ spec }) => (spec?.taints ?? []).length === 0).map(nameOf));
    return nodes.every(({ name }) => well.has(name));
  }

  #of(groups: readonly string[]): StagedNode[] {
    return this.#nodes.filter(({ group }) => groups.includes(group));
  }

  async #each(groups: readonly string[], act: (node: StagedNode) => Promise<void>): Promise<void> {
    await Promise.all(this.#of(groups).map(act));
  }

  #patchNode(name: string, body: object): Promise<void> {
    return this.#write({ ...nodeWrite(name), verb: "patch", patch: "merge", body });
  }

  async #write(request: WriteRequest): Promise<void> {
    const reply = await write(this.#cluster.kube, request);
    if (reply.outcome !== "ok") throw new Error(reply.detail);
  }

  get #leasePeriodMs(): number {
    return this.#cluster.periods.leaseSeconds * 1000;
  }

  #zone(zone: string): string {
    return `${this.incident.name}-${zone}`;
  }
}

const nameOf = ({ metadata }: ListedObject): string => metadata.name;
const nodeWrite = (name: string) => ({ ref: { kind: "Node" as const, namespace: "", name }, urgency: Urgency.status });
const pathOf = ({ pod }: StagedNode): string => `/api/v1/namespaces/default/pods/${pod}`;

/** A client that notes when a kubelet sends something. */
function noting(kube: Pick<Kube, "write">, heard: { at: number }): Pick<Kube, "write"> {
  return {
    write: (request, done) => {
      heard.at = Date.now();
      kube.write(request, done);
    },
  };
}
