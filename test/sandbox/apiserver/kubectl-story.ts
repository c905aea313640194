/** A sequence of kubectl commands as a user runs them, the same on any API server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const READY = {
  type: "Ready",
  status: "True",
  reason: "KubeletReady",
  message: "fine",
  lastHeartbeatTime: "2026-01-01T00:00:00Z",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

const NODE_STATUS = {
  capacity: { cpu: "4", memory: "8Gi", pods: "110" },
  allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
  addresses: [{ type: "InternalIP", address: "10.1.1.1" }],
  conditions: [READY],
  nodeInfo: { kubeletVersion: "v1.20.2", osImage: "Debian", operatingSystem: "linux", architecture: "amd64" },
};

const OBJECTS = [
  { apiVersion: "v1", kind: "Node", metadata: { name: "n-1", labels: { zone: "a" } }, spec: { providerID: "x://1" } },
  { apiVersion: "v1", kind: "Node", metadata: { name: "n-2", labels: { "node-role.kubernetes.io/edge": "" } } },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "bound", labels: { app: "x" } },
    spec: { nodeName: "n-1", containers: [{ name: "c", image: "i:1", resources: { requests: { cpu: "100m" } } }] },
  },
  { apiVersion: "v1", kind: "Pod", metadata: { name: "free" }, spec: { containers: [{ name: "c", image: "i" }] } },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "n-1", namespace: "kube-node-lease" },
    spec: { holderIdentity: "n-1", leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" },
  },
  {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  },
  {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "e" },
    involvedObject: { apiVersion: "v1", kind: "Node", name: "n-1", uid: "n-1" },
    reason: "NodeNotReady",
    message: "Node n-1 status is now: NodeNotReady",
    type: "Normal",
    count: 2,
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    source: { component: "node-controller" },
  },
];

/** The commands in order; `folder` takes the files that some of them read. */
export function kubectlStory(folder: string): readonly string[] {
  const objects = join(folder, "objects.json");
  writeFileSync(objects, JSON.stringify({ apiVersion: "v1", kind: "List", items: OBJECTS }));
  const bad = join(folder, "bad.json");
  for (const name of ["story", "Bad_Name"]) {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(namespace));
  }
  const empty = { apiVersion: "v1", kind: "Pod", metadata: { name: "Bad" }, spec: { containers: [] } };
  writeFileSync(bad, JSON.stringify(empty));
  const status = `patch node n-1 --subresource=status --type=strategic -p ${JSON.stringify({ status: NODE_STATUS })}`;
  return [
    `apply -f ${objects}`,
    `apply -f ${objects}`,
    `create --validate=false -f ${bad}`,
    status,
    ...READS,
    ...WRITES,
    `create -f ${join(folder, "story.json")}`,
    `create -f ${join(folder, "Bad_Name.json")}`,
    ...NAMESPACED,
  ];
}

const READS = [
  "get nodes",
  "get nodes -o wide",
  "get nodes --show-labels",
  "get nodes -l zone=a -o name",
  "get nodes -l !zone -o name",
  "get nodes --sort-by=.metadata.name -o name",
  "get nodes n-1 none",
  "get node n-1 -o yaml",
  "get pods -A -o wide",
  "get pods --field-selector spec.nodeName=n-1",
  "get pods --field-selector status.phase!=Running -o name",
  "get pods --field-selector nothing=1",
  "get pod bound -o yaml",
  "get pods -A --chunk-size=1",
  "get daemonsets -o wide",
  "get lease -A",
  "get events",
  "get events -o wide",
  "get events --field-selector involvedObject.name=n-1 -o name",
  "events --for node/n-1",
  "describe node n-1",
  "describe pod bound",
  "describe lease n-1 -n kube-node-lease",
  "get --raw /api/v1/nodes/none",
  "get nothing",
];

const WRITES = [
  "taint nodes n-1 k=v:NoExecute",
  "taint nodes n-1 k=w:NoExecute",
  "taint nodes n-1 k=w:NoExecute --overwrite",
  "get node n-1 -o jsonpath={.spec.taints}",
  "taint nodes n-1 k:NoExecute-",
  "taint nodes none k=v:NoExecute",
  "cordon n-1",
  "get nodes",
  "uncordon n-1",
  "label node n-1 a=b",
  "label node n-1 a=c",
  "label node n-1 a=c --overwrite",
  "label node n-1 a=x!y --overwrite",
  "label node n-1 a-",
  "annotate node n-1 x=y --dry-run=server",
  "annotate node n-1 x=y",
  "drain n-1 --ignore-daemonsets --force --grace-period=7 --timeout=5s",
  "get pods",
  "get pod bound -o jsonpath={.metadata.deletionGracePeriodSeconds}",
  "delete pod bound --now --wait=false",
  "delete pod bound --grace-period=0 --force",
  "delete pod free",
  "delete pod none",
];

const NAMESPACED = [
  "run web --image=i -n story",
  "run web --image=i -n nowhere",
  "delete pods --all -n story",
  "delete namespace default",
  "delete node n-1",
  "delete nodes --all",
  "get nodes",
];
