/** Requests that cover the whole API, each based on what the earlier ones left. */
import type { KubeObject } from "../../../protocols/ports.ts";

/** One request; a body may be built from the objects of earlier responses, by their paths. */
export interface Turn {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly from?: (answered: ReadonlyMap<string, KubeObject>) => unknown;
  /** The kind of patch. */
  readonly as?: "strategic-merge-patch" | "merge-patch" | "json-patch";
  /** Compares everything but messages: the real server's contain its parser's or Go's. */
  readonly inOwnWords?: true;
}

const NODES = "/api/v1/nodes";
const PODS = "/api/v1/namespaces/default/pods";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const EVENTS = "/api/v1/namespaces/default/events";
const DAEMON_SETS = "/apis/apps/v1/namespaces/default/daemonsets";

const get = (path: string): Turn => ({ method: "GET", path });
const post = (path: string, body: unknown): Turn => ({ method: "POST", path, body });
const put = (path: string, from: NonNullable<Turn["from"]>): Turn => ({ method: "PUT", path, from });
const remove = (path: string, options?: object): Turn => ({ method: "DELETE", path, body: options });
const strategic = (path: string, body: unknown): Turn => ({ method: "PATCH", path, body, as: "strategic-merge-patch" });
const merge = (path: string, body: unknown): Turn => ({ method: "PATCH", path, body, as: "merge-patch" });
const operations = (path: string, body: unknown): Turn => ({ method: "PATCH", path, body, as: "json-patch" });
const loosely = (turn: Turn): Turn => ({ ...turn, inOwnWords: true });

const node = (name: string, more: object = {}): object => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name },
  ...more,
});
const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});
const taints = (...list: object[]): object => ({ spec: { taints: list } });
const conditions = (...list: object[]): object => ({ status: { conditions: list } });
const changed = (path: string, change: object) => (answered: ReadonlyMap<string, KubeObject>) => ({
  ...answered.get(path),
  ...change,
});

const nodes: readonly Turn[] = [
  post(NODES, node("n", { metadata: { name: "n", labels: { zone: "a" } } })),
  post(NODES, node("n")),
  get(`${NODES}/none`),
  get("/api/v1/nothing"),
  loosely(post(NODES, { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } })),
  loosely(post(NODES, [1])),
  post(NODES, node("N_1")),
  post(NODES, { apiVersion: "v1", kind: "Node", metadata: {} }),
  post(NODES, node("x", { metadata: { name: "x", resourceVersion: "12" } })),
  post(NODES, node("x", { metadata: { name: "x", labels: { "bad key!": "bad value!" } } })),
  post(NODES, node("x", taints({ key: "a" }))),
  post(NODES, node("x", taints({ key: "a", effect: "Bad" }))),
  post(NODES, node("x", taints({ effect: "NoExecute" }))),
  loosely(
    post(NODES, node("x", taints({ key: "a", effect: "NoExecute" }, { key: "a", effect: "NoExecute", value: "x" }))),
  ),
  loosely(post(NODES, node("x", { metadata: { name: "x", labels: [] } }))),
  loosely(post(NODES, node("x", { spec: { taints: "x" } }))),
  post(
    NODES,
    node("full", {
      spec: {
        taints: [{ key: "b", effect: "NoExecute", timeAdded: "2026-01-01T01:00:00+01:00" }],
        podCIDR: "10.0.0.0/24",
      },
      status: {
        capacity: { cpu: "4", memory: "8Gi", pods: "110" },
        conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T00:00:00Z" }],
        addresses: [{ type: "InternalIP", address: "10.1.1.1" }],
      },
    }),
  ),
];

const patches: readonly Turn[] = [
  strategic(`${NODES}/n`, { metadata: { resourceVersion: "1" }, ...taints() }),
  strategic(`${NODES}/n`, { metadata: { uid: "x" } }),
  strategic(`${NODES}/n`, { metadata: { name: "other" } }),
  strategic(`${NODES}/n`, { metadata: { labels: { b: "c" } } }),
  merge(`${NODES}/n`, { metadata: { labels: { b: null } } }),
  operations(`${NODES}/n`, [{ op: "add", path: "/metadata/labels/q", value: "1" }]),
  operations(`${NODES}/n`, [{ op: "test", path: "/metadata/labels/q", value: "2" }]),
  operations(`${NODES}/n`, [{ op: "remove", path: "/metadata/labels/none" }]),
  operations(`${NODES}/n`, [{ op: "replace", path: "/metadata/labels/new", value: "x" }]),
  operations(`${NODES}/n`, { op: "x" }),
  strategic(`${NODES}/n/status`, conditions({ type: "Ready", status: "True" }, { type: "Other", status: "False" })),
  strategic(`${NODES}/n/status`, conditions({ type: "Third", status: "False" })),
  strategic(`${NODES}/n/status`, {
    status: {
      "$setElementOrder/conditions": [{ type: "Other" }, { type: "Ready" }],
      conditions: [{ type: "Ready", status: "Unknown" }],
    },
  }),
  strategic(`${NODES}/n/status`, conditions({ type: "Ready", $patch: "delete" })),
  strategic(`${NODES}/n/status`, conditions({ type: "Only", status: "True" }, { $patch: "replace" })),
  loosely(strategic(`${NODES}/n/status`, conditions({ status: "True" }))),
  loosely(strategic(`${NODES}/n/status`, conditions({ type: "Q", $patch: "odd" }))),
  loosely(
    strategic(`${NODES}/n/status`, {
      status: { "$setElementOrder/conditions": [{ type: "R" }], conditions: [{ type: "Q" }] },
    }),
  ),
  strategic(`${NODES}/full/status`, { status: { addresses: [{ type: "InternalIP", address: "10.1.1.2" }] } }),
  strategic(`${NODES}/full/status`, {
    status: {
      addresses: [
        { type: "InternalIP", address: "10.1.1.3" },
        { type: "InternalIP", address: "10.1.1.4" },
        { $patch: "replace" },
      ],
    },
  }),
  strategic(`${NODES}/n`, taints({ key: "a", effect: "NoSchedule" })),
  strategic(`${NODES}/n`, { spec: { taints: [], unschedulable: true } }),
  strategic(`${NODES}/n`, { spec: { unschedulable: false } }),
  loosely(strategic(`${NODES}/n`, { spec: { unschedulable: "yes" } })),
  strategic(`${NODES}/n`, { metadata: { finalizers: ["a.b/c", "d.e/f"] } }),
  strategic(`${NODES}/n`, { metadata: { finalizers: ["x.y/z"] } }),
  strategic(`${NODES}/n`, { metadata: { "$deleteFromPrimitiveList/finalizers": ["a.b/c"] } }),
  strategic(`${NODES}/n`, { metadata: { finalizers: null } }),
  strategic(`${NODES}/n`, { metadata: { $retainKeys: ["name"] } }),
  strategic(`${NODES}/none`, {}),
];

const updates: readonly Turn[] = [
  get(`${NODES}/full`),
  put(`${NODES}/full`, (answered) => ({
    ...answered.get(`${NODES}/full`),
    metadata: { ...answered.get(`${NODES}/full`)?.metadata, resourceVersion: "1" },
  })),
  loosely(put(`${NODES}/full`, () => node("full", { metadata: { name: "full", uid: "x" } }))),
  put(`${NODES}/full`, () => node("other")),
  put(`${NODES}/full`, () => node("full", { spec: { podCIDR: "10.0.0.0/24" } })),
  put(`${NODES}/full`, changed(`${NODES}/full`, { status: {} })),
  put(`${NODES}/full/status`, () => node("full", { metadata: { name: "full", labels: { w: "1" } }, status: {} })),
  put(`${NODES}/absent`, () => node("absent")),
];

const leaseOf = (name: string, spec: object): object => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name },
  spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.123456Z", ...spec },
});

const leases: readonly Turn[] = [
  post(LEASES, leaseOf("n", {})),
  post(LEASES, leaseOf("m", { leaseDurationSeconds: 0, leaseTransitions: -1 })),
  loosely(post(LEASES, leaseOf("m", { renewTime: "2026-01-01T00:00:00Z" }))),
  post(LEASES.replace("kube-node-lease", "nowhere"), leaseOf("m", {})),
  put(`${LEASES}/n`, () => leaseOf("n", {})),
  put(`${LEASES}/made`, () => leaseOf("made", { renewTime: "2026-01-01T01:00:00.123456+01:00" })),
  get(`${LEASES}/made`),
  get(`${LEASES}/made/status`),
  remove(`${LEASES}/made`, { preconditions: { uid: "x" } }),
  remove(`${LEASES}/made`),
  remove(`${LEASES}/made`),
];

const pods: readonly Turn[] = [
  post(PODS, pod("free")),
  post(PODS, pod("bound", { nodeName: "n" })),
  post(PODS, pod("proud", { tolerations: [{ operator: "Exists" }] }, { labels: { app: "x" } })),
  post(PODS, pod("bad", { containers: [] })),
  post(PODS, pod("bad", { containers: [{ name: "C!", image: "" }, {}], restartPolicy: "Maybe" })),
  strategic(`${PODS}/bound/status`, {
    status: { phase: "Running", podIP: "10.0.0.1", conditions: [{ type: "Ready", status: "True" }] },
  }),
  strategic(`${PODS}/bound/status`, { metadata: { uid: "x" }, status: { phase: "Failed" } }),
  strategic(`${PODS}/bound`, { spec: { tolerations: [{ key: "x", operator: "Exists" }] } }),
  loosely(strategic(`${PODS}/bound`, { spec: { nodeName: "m" } })),
  strategic(`${PODS}/bound`, { spec: { containers: [{ name: "d", image: "i" }] } }),
  post(`${PODS}/free/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "free" },
    target: { kind: "Node", name: "n" },
  }),
  post(`${PODS}/free/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "free" },
    target: { kind: "Node", name: "m" },
  }),
  post(`${PODS}/free/eviction`, { apiVersion: "policy/v1beta1", kind: "Eviction", metadata: { name: "free" } }),
  get(`${PODS}/free`),
  remove(`${PODS}/bound`, { preconditions: { uid: "x" } }),
  remove(`${PODS}/bound`, { gracePeriodSeconds: 20 }),
  remove(`${PODS}/bound`, { gracePeriodSeconds: 40 }),
  remove(`${PODS}/bound`, { gracePeriodSeconds: 10 }),
  post(PODS, pod("bound")),
  remove(`${PODS}/bound`, { gracePeriodSeconds: 0 }),
  get(`${PODS}/bound`),
  get(`${PODS}?labelSelector=app%3Dx`),
  get(`${PODS}?fieldSelector=spec.nodeName%3Dn`),
  get(`${PODS}?fieldSelector=nothing%3Dx`),
  post(PODS, pod("held", {}, { finalizers: ["a.b/c"] })),
  remove(`${PODS}/held`),
  merge(`${PODS}/held`, { metadata: { finalizers: [] } }),
  get(`${PODS}/held`),
];

const oldEvent = { apiVersion: "v1", kind: "Event", metadata: { name: "old" }, reason: "R", message: "M", count: 1 };

const others: readonly Turn[] = [
  post(EVENTS, { ...oldEvent, involvedObject: { kind: "Node", name: "n" }, firstTimestamp: "2026-01-01T00:00:00Z" }),
  post(EVENTS, { ...oldEvent, involvedObject: { kind: "Pod", name: "p", namespace: "elsewhere" } }),
  post(DAEMON_SETS, {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "d" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  }),
  strategic(`${DAEMON_SETS}/d`, { spec: { template: { spec: { containers: [{ name: "c", image: "j" }] } } } }),
  strategic(`${DAEMON_SETS}/d/status`, { status: { numberReady: 3 } }),
  remove(`${DAEMON_SETS}/d`),
  post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "x" } }),
  remove("/api/v1/namespaces/x"),
  post("/api/v1/namespaces/x/pods", pod("p")),
  remove("/api/v1/namespaces/default"),
  get("/api/v1/namespaces?fieldSelector=status.phase%3DTerminating"),
  remove(`${NODES}/n`),
  remove(`${NODES}/full`),
  get(NODES),
];

/** Every request, in order. */
export const CONVERSATION: readonly Turn[] = [...nodes, ...patches, ...updates, ...leases, ...pods, ...others];
