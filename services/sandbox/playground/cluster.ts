/** The playground's cluster: sixty hollow nodes in three zones, each with three pods of different tolerations. */
import { type Kube, Urgency } from "../../../protocols/ports.ts";
import type { HollowNodeSpec } from "../hollow/hollow-stats.ts";

/** The zones, each with NODES_PER_ZONE nodes. */
export const ZONES = ["zone-a", "zone-b", "zone-c"] as const;
/** Nodes in each zone. */
export const NODES_PER_ZONE = 20;
/** How long an impatient pod tolerates NoExecute. */
export const IMPATIENT_SECONDS = 5;
/** The impatient pod of each node. */
export const IMPATIENT_APP = "web";

/** The tolerations of a node's pods: `web` a few seconds, `db` the API server's default (300 s), `agent` everything. */
const TOLERATIONS: Readonly<Record<string, readonly object[]>> = {
  [IMPATIENT_APP]: ["not-ready", "unreachable"].map((fault) => ({
    key: `node.kubernetes.io/${fault}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: IMPATIENT_SECONDS,
  })),
  db: [],
  agent: [{ operator: "Exists" }],
};

/** The name of the n-th node of a zone, counted from 1. */
export function nodeName(zone: string, number: number): string {
  return `${zone.replace("zone", "node")}-${String(number).padStart(2, "0")}`;
}

/** The nodes of a zone by name. */
export function nodesOf(zone: string): string[] {
  return Array.from({ length: NODES_PER_ZONE }, (_, index) => nodeName(zone, index + 1));
}

/** Every node of the playground. */
export function playgroundNodes(): HollowNodeSpec[] {
  return ZONES.flatMap((zone) => nodesOf(zone).map((name) => ({ name, zone })));
}

/** Creates the pods of every node; existing pods stay as they are. */
export function createPods(kube: Kube): void {
  for (const node of ZONES.flatMap(nodesOf)) {
    for (const [app, tolerations] of Object.entries(TOLERATIONS)) {
      const name = `${app}-${node}`;
      const body = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace: "default", labels: { app } },
        spec: { nodeName: node, tolerations, containers: [{ name: app, image: `playground/${app}` }] },
      };
      const ref = { kind: "Pod", namespace: "default", name } as const;
      kube.write({ ref, urgency: Urgency.readiness, verb: "create", body }, () => {});
    }
  }
}
