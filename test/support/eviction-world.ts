/**
 * A cluster with every service that evicts, which can crash and start again, and a journal of what the API saw. It
 * asserts nothing.
 */

import type { ObservedNode, Toleration } from "../../protocols/objects.ts";
import { NO_POLICIES } from "../../protocols/policy-set.ts";
import { type Policies, Urgency } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { ConfiguredPolicy } from "../../services/domain/node-policy.parse.ts";
import { nodeService } from "../../services/node/node.service.ts";
import { nodeWriterService } from "../../services/node-writer/node-writer.service.ts";
import { observerService } from "../../services/observer/observer.service.ts";
import { PolicyReceiver } from "../../services/platform/node-policies/policy-receiver.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { podWriterService } from "../../services/pod-writer/pod-writer.service.ts";
import { policyService } from "../../services/policy/policy.service.ts";
import { taintManagerService } from "../../services/taint-manager/taint-manager.service.ts";
import { zoneService } from "../../services/zone/zone.service.ts";
import type { KubeletOptions, TestKubelet } from "./test-kubelet.ts";
import { type Services, type StartOptions, VirtualCluster, type VirtualProcess } from "./virtual-cluster.ts";

/** Every service that evictions need. */
export const EVICTING: Services = {
  observer: observerService,
  node: nodeService,
  zone: zoneService,
  "taint-manager": taintManagerService,
  "node-writer": nodeWriterService,
  "pod-writer": podWriterService,
};

/** The key of the taint of a node whose kubelet reports not ready. */
export const NOT_READY = "node.kubernetes.io/not-ready";
/** The key of the taint of a node that has fallen silent. */
export const UNREACHABLE = "node.kubernetes.io/unreachable";

/** A change that the API showed, at an instant of the virtual clock. */
export interface Seen {
  readonly name: string;
  readonly atMs: number;
}

/** The tolerations that admission adds to a pod without its own. */
const DEFAULT_TOLERATIONS: readonly Toleration[] = [NOT_READY, UNREACHABLE].map((key) => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 300,
}));

/** Fewer pulses than by default: nothing here depends on them, and an hour of virtual time should pass quickly. */
const QUIET_PULSES: Partial<Profile> = { pulsePeriodMs: 5000, pulseTimeoutMs: 16_000 };

/** How long a process needs to know its policies. */
const POLICIES_KNOWN_MS = 200;

/** A cluster under one process of Vigil. */
export class EvictionWorld extends VirtualCluster {
  /** When each node got one of our NoExecute taints after having none. */
  readonly tainted: Seen[] = [];
  /** When each node lost the last of them. */
  readonly healed: Seen[] = [];
  /** When each pod began to terminate or vanished. */
  readonly deleted: Seen[] = [];
  readonly #kubelets = new Map<string, TestKubelet>();
  /** The node policies of --config, without those of the API. */
  readonly #policies: readonly ConfiguredPolicy[] | null;
  #process: VirtualProcess | null = null;

  /** Without policies of --config none are waited for. */
  constructor(profile: Partial<Profile> = {}, policies: readonly ConfiguredPolicy[] | null = null) {
    super({ profile: { ...QUIET_PULSES, ...profile } });
    this.#policies = policies;
    this.#watchNodes();
    this.#watchPods();
  }

  /** Starts Vigil and lets it sync; with policies of its own where the world has none of --config. */
  run({ isShadow = false, ...given }: Pick<StartOptions, "isShadow" | "policies" | "standstill"> = {}): void {
    const member = "vigil";
    if (given.policies !== undefined) this.#process = this.start(EVICTING, { member, isShadow, ...given });
    else {
      const policies = this.receivedPolicies(member);
      const services = { ...EVICTING, policy: policyService(this.#policies ?? []) };
      this.#process = this.start(services, { member, isShadow, ...given, policies });
    }
    this.advance(this.#policies === null ? 0 : POLICIES_KNOWN_MS);
  }

  /** What a process receives from the policy service; without policies of --config it waits for none. */
  receivedPolicies(member: string): Policies {
    const io = { clock: this.clock, log: silentLog, metrics: createMetrics() };
    const received = new PolicyReceiver({ bus: this.busOf("policies", member), ...io });
    return this.#policies === null ? knownFromStart(received) : received;
  }

  /** What the process has logged. */
  logged(): VirtualProcess["log"]["lines"] {
    return this.#process?.log.lines ?? [];
  }

  /** The metrics of the process, which must run. */
  get metrics(): VirtualProcess["metrics"] {
    if (this.#process === null) throw new Error("the process has not started");
    return this.#process.metrics;
  }

  /** Kills the process with all its memory and starts it again after `downMs`; `whileDown` runs just after the kill. */
  crash(downMs: number, whileDown: () => void = () => {}): void {
    this.#process?.kill();
    whileDown();
    this.advance(downMs);
    this.run();
  }

  /** Registers nodes `prefix-0`, `prefix-1`… in a zone; null for no labels. */
  addZone(prefix: string, size: number, zone: string | null = prefix): string[] {
    const labels = zone === null ? {} : { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": zone };
    const names = Array.from({ length: size }, (_, index) => `${prefix}-${index}`);
    for (const name of names) this.register(name, labels);
    return names;
  }

  /** Registers one node, with options for its kubelet. */
  register(name: string, labels: Readonly<Record<string, string>> = {}, behaviour: Partial<KubeletOptions> = {}): void {
    this.#kubelets.set(name, this.addNode({ name, labels, ...behaviour }));
  }

  /** The kubelet of a node. */
  kubelet(name: string): TestKubelet {
    const kubelet = this.#kubelets.get(name);
    if (kubelet === undefined) throw new Error(`there is no kubelet ${name}`);
    return kubelet;
  }

  /** Silences kubelets. */
  silence(names: readonly string[]): void {
    for (const name of names) this.kubelet(name).stop();
  }

  /** Lets kubelets send heartbeats again. */
  revive(names: readonly string[]): void {
    for (const name of names) this.kubelet(name).resume();
    for (const name of names) this.kubelet(name).post();
  }

  /** Creates a pod with the given tolerations; by default those of admission. */
  addTolerantPod(node: string, name: string, tolerations: readonly Toleration[] = DEFAULT_TOLERATIONS): void {
    this.addPod(node, name, { spec: { tolerations } });
  }

  /** Removes a pod, as its kubelet does once it has stopped. */
  removePod(name: string): void {
    const ref = { kind: "Pod", namespace: "default", name } as const;
    this.write({ verb: "delete", ref, urgency: Urgency.healing, gracePeriodSeconds: 0 });
  }

  /** Sets all taints of a node, as `kubectl taint` does. */
  taint(node: string, taints: readonly Readonly<Record<string, string>>[]): void {
    this.patch({ kind: "Node", namespace: "", name: node }, { spec: { taints: taints.length === 0 ? null : taints } });
  }

  /** When a pod was deleted; undefined before. Throws when it was deleted twice. */
  deletedAt(name: string): number | undefined {
    return once(this.deleted, name);
  }

  /** When a node was first tainted; undefined before. */
  taintedAt(name: string): number | undefined {
    return this.tainted.find((seen) => seen.name === name)?.atMs;
  }

  /** The `timeAdded` of a node's NoExecute taint, on the virtual clock. */
  timeAddedMs(node: string): number {
    const taint = (this.node(node).spec.taints ?? []).find(({ effect }) => effect === "NoExecute");
    return Date.parse(taint?.timeAdded ?? "") - this.clock.wallMs() + this.clock.monotonicMs();
  }

  #watchNodes(): void {
    const carrying = new Set<string>();
    const look = (name: string, carries: boolean): void => {
      if (carries === carrying.has(name)) return;
      (carries ? this.tainted : this.healed).push({ name, atMs: this.clock.monotonicMs() });
      if (carries) carrying.add(name);
      else carrying.delete(name);
    };
    this.kube.watch("nodes", {
      changed: (node) => look(node.node, carriesOurs(node)),
      gone: (name) => carrying.delete(name),
      state: () => {},
    });
  }

  #watchPods(): void {
    const living = new Map<string, string>();
    const end = (key: string, name: string): void => {
      if (living.delete(key)) this.deleted.push({ name, atMs: this.clock.monotonicMs() });
    };
    this.kube.watch("pods", {
      changed: ({ pod }) => {
        const key = `${pod.namespace}/${pod.name}`;
        if (living.has(key) && living.get(key) !== pod.uid) end(key, pod.name);
        if (pod.deletionAt === null) living.set(key, pod.uid);
        else end(key, pod.name);
      },
      gone: (key) => end(key, key.slice(key.indexOf("/") + 1)),
      state: () => {},
    });
  }
}

/** Received policies that count as none until they have arrived. Nothing waits for them. */
function knownFromStart(received: Policies): Policies {
  return { current: () => received.current() ?? NO_POLICIES, follow: (changed) => received.follow(changed) };
}

function carriesOurs({ taints }: ObservedNode): boolean {
  return taints.some(({ key, effect }) => effect === "NoExecute" && (key === NOT_READY || key === UNREACHABLE));
}

function once(seen: readonly Seen[], name: string): number | undefined {
  const all = seen.filter((each) => each.name === name);
  if (all.length > 1) throw new Error(`${name} was deleted ${all.length} times`);
  return all[0]?.atMs;
}
