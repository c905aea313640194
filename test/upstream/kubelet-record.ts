/** What a cluster of real kubelets shows of its nodes and pods. It asserts nothing. */
import type { ObservedNode } from "../../protocols/objects.ts";
import type { BoundPod, Kube } from "../../protocols/ports.ts";
import { readyConditionOf } from "../../services/domain/node-conditions.ts";

/** A record that grows while it watches. */
export class KubeletRecord {
  readonly nodes = new Map<string, ObservedNode>();
  /** The pods that exist and are bound, by namespace and name. */
  readonly pods = new Map<string, BoundPod>();
  /** What nodes have shown of a Ready condition that is not True, and of NoExecute taints, in order. */
  readonly troubles: string[] = [];
  /** The pods that were seen terminating or gone, by uid. */
  readonly deleted = new Set<string>();
  readonly stop: () => void;

  constructor(kube: Kube) {
    const nodes = kube.watch("nodes", {
      changed: (node) => {
        this.nodes.set(node.node, node);
        for (const trouble of troublesOf(node)) if (!this.troubles.includes(trouble)) this.troubles.push(trouble);
      },
      gone: (name) => this.nodes.delete(name),
      state: () => {},
    });
    const pods = kube.watch("pods", {
      changed: (bound) => {
        this.pods.set(`${bound.pod.namespace}/${bound.pod.name}`, bound);
        if (bound.pod.deletionAt !== null) this.deleted.add(bound.pod.uid);
      },
      gone: (key) => {
        const { uid } = this.pods.get(key)?.pod ?? {};
        if (uid !== undefined) this.deleted.add(uid);
        this.pods.delete(key);
      },
      state: () => {},
    });
    this.stop = () => {
      nodes.stop();
      pods.stop();
    };
  }

  /** Whether a node is Ready and carries no taint. */
  isWell(name: string): boolean {
    const node = this.nodes.get(name);
    return node !== undefined && readyConditionOf(node)?.status === "True" && node.taints.length === 0;
  }

  /** The pods of a workload, by the beginning of their names. */
  podsOf(workload: string): BoundPod[] {
    return [...this.pods.values()].filter(({ pod }) => pod.name.startsWith(`${workload}-`));
  }

  /** Those of them that are Ready and not terminating. */
  readyPodsOf(workload: string): BoundPod[] {
    return this.podsOf(workload).filter(({ pod }) => pod.ready === "True" && pod.deletionAt === null);
  }

  /** A description of the present state, for the message of a failure. */
  summary(): string {
    const pods = [...this.pods].map(([key, { node, pod }]) => `${key} on ${node}: ${pod.phase}, ready ${pod.ready}`);
    return [...this.troubles, ...[...this.nodes.values()].map((node) => JSON.stringify(node)), ...pods].join("\n");
  }
}

function troublesOf(node: ObservedNode): string[] {
  const { status } = readyConditionOf(node) ?? {};
  return [
    ...(status === "True" ? [] : [`${node.node} Ready=${status}`]),
    ...node.taints.filter(({ effect }) => effect === "NoExecute").map(({ key }) => `${node.node} ${key}:NoExecute`),
  ];
}
