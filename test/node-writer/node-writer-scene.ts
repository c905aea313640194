/** A node-writer on a virtual API and a requester. */
import type { BodyOf, MessageType } from "../../protocols/messages.ts";
import type { Profile } from "../../protocols/profile.ts";
import { nodeWriterService } from "../../services/node-writer/node-writer.service.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { recordingLog } from "../support/recording-log.ts";
import type { TestKubelet } from "../support/test-kubelet.ts";
import { type StartOptions, VirtualCluster, type VirtualProcess } from "../support/virtual-cluster.ts";

/** The NoExecute taint of a silent node. */
export const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
const REPELLING = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };
const FORCED = { reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
/** The node of every test, as Events name it. */
export const NODE = { kind: "Node", namespace: "", name: "node-1" } as const;

/** A node, a node-writer, and a requester. */
export class Scene {
  readonly cluster: VirtualCluster;
  readonly kubelet: TestKubelet;
  readonly calls: string[] = [];
  readonly process: VirtualProcess;

  constructor(profile: Partial<Profile> = {}, options: Pick<StartOptions, "policies"> = {}) {
    this.cluster = new VirtualCluster({ profile });
    this.kubelet = this.cluster.addNode({ name: "node-1", leasePeriodMs: null, statusPeriodMs: null });
    this.process = this.cluster.start({ "node-writer": nodeWriterService }, options);
    const note = ({ verb, resource, subresource }: Call): boolean => {
      this.calls.push(`${verb} ${resource.plural}${subresource === "" ? "" : `/${subresource}`}`);
      return false;
    };
    this.cluster.api.faults.add({ fault: { kind: "stall" }, when: note });
  }

  /** Publishes a request as a service would, and lets the writer work. */
  ask<T extends MessageType>(type: T, body: BodyOf<T>, service = "node"): string {
    const { clock, transport } = this.cluster;
    const who = { service, member: "asker", log: recordingLog(), metrics: createMetrics() };
    const bus = typedBus({ transport, clock, cluster: "test", mailboxMessagesMax: 1_000, ...who });
    const id = bus.publish(type, body, null);
    this.cluster.advance(0);
    return id ?? "";
  }

  /** Publishes a request, and lets something happen while its first patch is on its way. */
  askSlowly(body: BodyOf<"asked.taint">, meanwhile: () => void): void {
    let isSent = false;
    const isFirstPatch = ({ verb }: Call): boolean => {
      const isFirst = verb === "patch" && !isSent;
      isSent ||= isFirst;
      return isFirst;
    };
    this.cluster.api.faults.add({ fault: { kind: "latency", requestMs: 500 }, when: isFirstPatch });
    this.ask("asked.taint", body);
    if (!isSent) throw new Error("the request led to no patch");
    meanwhile();
    this.cluster.advance(5_000);
  }

  conditionAsk(fields: Partial<BodyOf<"asked.condition">> = {}, node = "node-1"): BodyOf<"asked.condition"> {
    const { uid, resourceVersion } = this.cluster.node(node).metadata;
    const { lastHeartbeatTime = "" } =
      this.cluster.node(node).status.conditions?.find(({ type }) => type === "Ready") ?? {};
    const conditions = [{ type: "Ready", status: "Unknown" as const, ...FORCED, heartbeatAt: null }];
    const basis = { leaseRenewedAt: null, statusHeartbeatAt: Date.parse(lastHeartbeatTime) };
    this.calls.length = 0;
    return { node, uid, resourceVersion, basis, conditions, ...fields };
  }

  taintAsk(fields: Partial<BodyOf<"asked.taint">> = {}, node = "node-1"): BodyOf<"asked.taint"> {
    const { metadata, spec } = this.cluster.node(node);
    const { uid, resourceVersion } = metadata;
    const [add, remove] = [[REPELLING], []];
    this.calls.length = 0;
    return {
      node,
      uid,
      resourceVersion,
      taints: spec.taints ?? [],
      add,
      remove,
      ready: "True",
      why: "conditions",
      ...fields,
    };
  }

  /** A grant for the node, whose kubelet is silent. */
  grantedTaintAsk(fields: Partial<BodyOf<"asked.taint">> = {}): BodyOf<"asked.taint"> {
    this.kubelet.report("Ready", "Unknown");
    return this.taintAsk({ add: [UNREACHABLE], ready: "Unknown", why: "granted", ...fields });
  }

  /** Outcomes of the requests; `…` marks those that are retried. */
  outcomes(): string[] {
    return this.cluster.published("done.write").map(({ body }) => `${body.outcome}${body.retrying ? "…" : ""}`);
  }
}
