/** An attacker with the stolen NATS seed of one role, on the bus of a healthy cluster. */
import type { BodyOf } from "../../protocols/messages.ts";
import type { Profile } from "../../protocols/profile.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
/** The node that the attacker attacks. */
export const NODE = "a-0";

/** A NoExecute taint with this key. */
export const evicting = (key: string) => ({ key, effect: "NoExecute" });

/** A healthy cluster of two zones with a pod on each node, and an attacker on its bus. */
export class Robbed extends EvictionWorld {
  constructor(profile: Partial<Profile> = {}) {
    super(profile);
    for (const name of [...this.addZone("a", 8), ...this.addZone("b", 3)]) this.addTolerantPod(name, `pod-${name}`);
    this.run();
    this.advance(10 * S);
  }

  /** The fields by which a request names a node in its present state. */
  named(name = NODE): Pick<BodyOf<"asked.taint">, "node" | "uid" | "resourceVersion"> {
    const { uid, resourceVersion } = this.node(name).metadata;
    return { node: name, uid, resourceVersion };
  }

  /** Requests a change of a node's taints; by default an empty one with the reason of a grant. */
  requestTaint(service: "zone" | "node", fields: Partial<BodyOf<"asked.taint">>, name = NODE): void {
    const taints = this.node(name).spec.taints ?? [];
    const defaults = {
      ...this.named(name),
      taints,
      add: [],
      remove: [],
      ready: "True" as const,
      why: "granted" as const,
    };
    const request: BodyOf<"asked.taint"> = { ...defaults, ...fields };
    this.busOf(service, "attacker").publish("asked.taint", request, null);
    this.advance(S);
  }

  /** Requests labels and annotations on the node. */
  requestLabel(service: "node" | "taint-manager", fields: Partial<BodyOf<"asked.label">>, waitMs = S): void {
    const request = { ...this.named(), labels: {}, ...fields };
    this.busOf(service, "attacker").publish("asked.label", request, null);
    this.advance(waitMs);
  }

  /** Requests conditions on the node, based on its heartbeats as the API shows them. */
  requestCondition(conditions: BodyOf<"asked.condition">["conditions"]): void {
    const ready = this.node(NODE).status.conditions?.find(({ type }) => type === "Ready");
    const lease = this.read({ kind: "Lease", namespace: "kube-node-lease", name: NODE });
    const basis = {
      leaseRenewedAt: Date.parse(String((lease?.spec as { renewTime?: string } | undefined)?.renewTime)),
      statusHeartbeatAt: Date.parse(ready?.lastHeartbeatTime ?? ""),
    };
    this.busOf("node", "attacker").publish("asked.condition", { ...this.named(), basis, conditions }, null);
    this.advance(S);
  }

  /** Sets the node Unknown with the seed of node, although its kubelet is alive. */
  forceUnknown(): void {
    const silent = { status: "Unknown", reason: "NodeStatusUnknown", heartbeatAt: null } as const;
    this.requestCondition([{ type: "Ready", ...silent, message: "Kubelet stopped posting node status." }]);
  }

  /** Requests the eviction of a node's pod; by default for a taint, now. */
  requestEviction(service: "node" | "taint-manager", fields: Partial<BodyOf<"asked.eviction">>, node = NODE): void {
    const name = `pod-${node}`;
    const target = { namespace: "default", name, uid: this.uidOf(name), node };
    const request = { ...target, mode: "taint", deadlineAt: this.clock.wallMs(), taint: null, ...fields } as const;
    this.busOf(service, "attacker").publish("asked.eviction", request, null);
    this.advance(S);
  }

  /** Requests that a node's pod in its present version is marked not ready. */
  requestUnready(node = NODE): void {
    const name = `pod-${node}`;
    const resourceVersion = this.read({ kind: "Pod", namespace: "default", name })?.metadata.resourceVersion ?? "";
    const request = { namespace: "default", name, uid: this.uidOf(name), node, resourceVersion };
    this.busOf("node", "attacker").publish("asked.unready", request, null);
    this.advance(S);
  }

  /** Posts the status of a node's pod as its kubelet does. */
  postReady(node = NODE): void {
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    this.patch({ kind: "Pod", namespace: "default", name: `pod-${node}` }, { status }, "status");
    this.advance(S);
  }

  /** The uid of a pod; empty when there is none. */
  uidOf(pod: string): string {
    return this.read({ kind: "Pod", namespace: "default", name: pod })?.metadata.uid ?? "";
  }

  /** The node without the fields that its kubelet changes by itself. */
  shown(name = NODE): unknown {
    const metadata = this.read({ kind: "Node", namespace: "", name })?.metadata;
    return {
      labels: metadata?.labels,
      annotations: metadata?.annotations,
      taints: this.taints(name),
      conditions: this.conditions(name),
    };
  }
}
