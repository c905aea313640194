/**
 * What makes real objects larger than the least that an API server accepts: pods of 6 to 10 KiB as a Deployment creates
 * them, with the managedFields of every client that wrote them, and nodes that list 50 images.
 */
import { isObject, type Json, type JsonObject } from "../../services/sandbox/apiserver/api-objects.ts";

/** A kubelet lists at most this many images of its node (`--node-status-max-images`). */
export const NODE_IMAGES = 50;

/** The taint that a benchmark sets to evict pods, and how long its pods tolerate it. */
export const BENCH_TAINT = { key: "bench.vigil.io/evict", effect: "NoExecute" } as const;
/** In seconds. */
export const BENCH_TOLERATION_SECONDS = 20;

const ENVIRONMENT_VARIABLES = 8;
const HASH = "7d4b9c6f58";
const CREATED = "2026-01-01T00:00:00Z";

/** The metadata of a pod that a ReplicaSet made, beside its name and namespace. */
export function typicalPodMetadata(): JsonObject {
  const team = { "app.kubernetes.io/name": "storefront", "app.kubernetes.io/part-of": "shop", team: "checkout" };
  return {
    labels: { app: "storefront", "pod-template-hash": HASH, ...team },
    annotations: {
      "prometheus.io/scrape": "true",
      "prometheus.io/port": "9090",
      "kubectl.kubernetes.io/restartedAt": CREATED,
      "cni.example.com/pod-networks": JSON.stringify([{ name: "default", ips: ["10.1.2.3"], default: true }]),
    },
    ownerReferences: [
      {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        name: `storefront-${HASH}`,
        uid: "7a1c9b52-8a63-4d41-9f0e-2d1f7c3b9a10",
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  };
}

/** The spec of such a pod, beside its node: an application and its proxy. */
export function typicalPodSpec(): JsonObject {
  const tolerated = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].map((key) => ({
    key,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 300,
  }));
  const benchmark = { ...BENCH_TAINT, operator: "Exists", tolerationSeconds: BENCH_TOLERATION_SECONDS };
  return {
    containers: [container("application", 8080), container("proxy", 15_001)],
    volumes: [
      { name: "settings", configMap: { name: "storefront-settings", defaultMode: 420 } },
      { name: "token", secret: { secretName: "storefront-token", defaultMode: 420 } },
    ],
    restartPolicy: "Always",
    terminationGracePeriodSeconds: 30,
    dnsPolicy: "ClusterFirst",
    serviceAccountName: "default",
    priority: 0,
    preemptionPolicy: "PreemptLowerPriority",
    tolerations: [...tolerated, benchmark],
  };
}

function container(name: string, port: number): JsonObject {
  const probe = { httpGet: { path: "/healthz", port, scheme: "HTTP" }, timeoutSeconds: 1, periodSeconds: 10 };
  return {
    name,
    image: `registry.example.com/shop/${name}:1.42.0`,
    args: ["--config=/etc/settings/main.yaml", `--listen=:${port}`],
    ports: [{ name: "http", containerPort: port, protocol: "TCP" }],
    env: Array.from({ length: ENVIRONMENT_VARIABLES }, (_, index) => ({
      name: `SETTING_${index}`,
      value: `value-of-setting-${index}`,
    })),
    resources: { requests: { cpu: "100m", memory: "128Mi" }, limits: { memory: "256Mi" } },
    volumeMounts: [
      { name: "settings", mountPath: "/etc/settings", readOnly: true },
      { name: "token", mountPath: "/var/run/token", readOnly: true },
    ],
    livenessProbe: probe,
    readinessProbe: probe,
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: "IfNotPresent",
  };
}

/** The statuses of its containers, running since `startedAt`. */
export function typicalContainerStatuses(startedAt: string): JsonObject[] {
  return ["application", "proxy"].map((name) => ({
    name,
    state: { running: { startedAt } },
    lastState: {},
    ready: true,
    restartCount: 0,
    image: `registry.example.com/shop/${name}:1.42.0`,
    imageID: `registry.example.com/shop/${name}@sha256:${"0a1b2c3d".repeat(8)}`,
    containerID: `containerd://${"4e5f6a7b".repeat(8)}`,
    started: true,
  }));
}

/** The managedFields of a pod: its controller wrote metadata and spec, its kubelet the status. */
export function managedFieldsOf({ metadata = null, spec = null, status = null }: JsonObject): JsonObject[] {
  const { labels = {}, annotations = {}, ownerReferences = [] } = isObject(metadata) ? metadata : {};
  const entry = (manager: string, fields: JsonObject): JsonObject => ({
    manager,
    operation: "Update",
    apiVersion: "v1",
    time: CREATED,
    fieldsType: "FieldsV1",
    fieldsV1: fieldsOf(fields),
  });
  return [
    entry("kube-controller-manager", { metadata: { labels, annotations, ownerReferences }, spec }),
    entry("kubelet", { status }),
  ];
}

/** The fields that identify the items of a list. A list without such a field has one owner for all items. */
const MERGE_KEYS = ["uid", "type", "name", "containerPort", "ip"];

/** A value's fields in the format FieldsV1: `f:` before each field, `k:` before each item of a keyed list. */
function fieldsOf(value: Json): JsonObject {
  if (Array.isArray(value)) {
    const items = value.filter(isObject);
    const key = MERGE_KEYS.find((name) => items.length === value.length && items.every((item) => name in item));
    if (key === undefined) return {};
    const fields = items.map((item) => [`k:${JSON.stringify({ [key]: item[key] })}`, fieldsOf(item)]);
    return { ".": {}, ...Object.fromEntries(fields) };
  }
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [`f:${name}`, fieldsOf(field)]));
}
