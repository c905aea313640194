/**
 * The zone service between a fake observer, node service and node-writer on virtual time, cheap enough for thousands of
 * nodes. It asserts nothing.
 */

import { digestWith, digestWithout, EMPTY_DIGEST, nodeVersion } from "../../protocols/digest.ts";
import type { BodyOf, Message } from "../../protocols/messages.ts";
import type { ObservedNode } from "../../protocols/objects.ts";
import type { Digest } from "../../protocols/observed.ts";
import { NO_POLICIES } from "../../protocols/policy-set.ts";
import type { Bus, Kube, ServiceName, Transport } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { readyConditionOf } from "../../services/domain/node-conditions.ts";
import { zoneKeyOf } from "../../services/domain/zone-key.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../services/platform/bus/memory.ts";
import { UNCONTESTED_LEASES } from "../../services/platform/kube/election/kube-leases.ts";
import { fixedPolicies } from "../../services/platform/node-policies/policy-receiver.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { zoneService } from "../../services/zone/zone.service.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { cuttable } from "../support/cuttable-transport.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { judgedNode, noExecute, observedNode } from "../support/observed-objects.ts";
import { recordingLog } from "../support/recording-log.ts";

/** The zone of the nodes that wait to be evicted. */
export const ILL_ZONE = "r:\u0000:ill";
/** A healthy zone, so not every zone is down. */
const WELL_ZONE = "r:\u0000:well";
const UNREACHABLE = "node.kubernetes.io/unreachable";
/** The subjects on which owners of zones grant and announce. */
const OWNER_SUBJECTS = /judged\.zone|asked\.taint|asked\.drain/;
type Receive = Parameters<Transport["subscribe"]>[1];
const PULSES: Partial<Profile> = { pulsePeriodMs: 5000, pulseTimeoutMs: 16_000 };

/** How the writer carries out a request. */
export interface Carrying {
  readonly latencyMs: number;
  readonly outcome?: BodyOf<"done.write">["outcome"];
  /** Whether a forged `refused` is published at once, before the real outcome. */
  readonly isForged?: boolean;
}

/** How a stage is set up. */
export interface StageOptions {
  readonly waiting: number;
  readonly profile?: Partial<Profile>;
  /** How each request is carried out; by default at once and with success. */
  readonly carry?: (node: string, nth: number) => Carrying;
}

/** What a process receives, and how late; by default everything at once. */
export interface Reception {
  readonly delayMs?: number;
  /** Whether messages of other owners of zones are lost. */
  readonly isDeaf?: boolean;
}

/** A process that runs the zone service. */
export interface ZoneProcess {
  readonly log: ReturnType<typeof recordingLog>;
  own(isOwned: boolean): void;
  kill(): void;
}

/** A cluster with waiting nodes in one zone and a healthy node in another. */
export class ZoneStage {
  readonly clock = new VirtualClock();
  /** When each request was granted, in milliseconds of the virtual clock. */
  readonly granted: number[] = [];
  /** When each node came to carry its taint, or was drained in direct mode. */
  readonly landed: number[] = [];
  readonly announced: (BodyOf<"judged.zone"> & { readonly source: string })[] = [];
  readonly #profile: Profile;
  readonly #carry: (node: string, nth: number) => Carrying;
  readonly #transport: Transport = memoryTransport(this.clock);
  readonly #nodes = new Map<string, ObservedNode>();
  readonly #evicted = new Set<string>();
  readonly #digests: Digest[] = Array.from({ length: SHARD_COUNT }, () => EMPTY_DIGEST);
  readonly #resyncs = new Map<number, number>();
  readonly #observer: Bus;
  readonly #judge: Bus;
  readonly #writer: Bus;
  #requests = 0;

  constructor({ waiting, profile, carry }: StageOptions) {
    this.#profile = { ...STANDARD_PROFILE, ...PULSES, ...profile };
    this.#carry = carry ?? (() => ({ latencyMs: 0 }));
    this.#observer = this.#bus("observer", "stage", this.#transport);
    this.#judge = this.#bus("node", "stage", this.#transport);
    this.#writer = this.#bus("node-writer", "stage", this.#transport);
    this.#put(observedNode("well", { labels: labelsOf("well") }));
    for (let index = 0; index < waiting; index++) this.addWaiting(`n-${index}`);
    this.#observer.subscribe("asked.resync", "all", ({ body, id }) => this.#resync(body.shard, id));
    this.#writer.subscribe("asked.taint", "all", (message) => this.#carryOut(message));
    this.#writer.subscribe("asked.drain", "all", (message) => this.#drain(message));
    this.#writer.subscribe("judged.zone", "all", ({ body, source }) => this.announced.push({ ...body, source }));
    this.#pulseLater();
  }

  advance(ms: number): void {
    this.clock.advance(ms);
  }

  /** Starts a process with the zone service; it owns nothing yet. */
  start(member: string, reception: Reception = {}): ZoneProcess {
    const log = recordingLog();
    const fleet = new HandFleet(member);
    const { transport, cut } = cuttable(this.#receivedAs(reception));
    const bus = this.#bus("zone", member, transport);
    const stop = zoneService({
      clock: this.clock,
      bus,
      fleet,
      log,
      kube: {} as Kube,
      random: () => 0.5,
      metrics: createMetrics(),
      profile: this.#profile,
      policies: fixedPolicies(NO_POLICIES),
      leases: UNCONTESTED_LEASES,
    });
    return {
      log,
      own: (isOwned) => {
        for (const zone of [ILL_ZONE, WELL_ZONE]) fleet.set("zone", shardOf(zone), isOwned);
      },
      kill: () => {
        stop();
        cut();
      },
    };
  }

  /** Registers a healthy node. */
  addWell(name: string, zone: "ill" | "well"): void {
    this.#put(observedNode(name, { labels: labelsOf(zone) }));
  }

  /** Deletes a node from the API. */
  remove(name: string): void {
    const node = this.#nodeOf(name);
    const shard = shardOf(name);
    this.#digests[shard] = digestWithout(this.#digests[shard] ?? EMPTY_DIGEST, name, nodeVersion(node));
    this.#nodes.delete(name);
    this.#observer.publish("observed.gone", { node: name, uid: node.uid }, null);
  }

  /** Registers another node whose kubelet is silent and whose eviction is due. */
  addWaiting(name: string): void {
    this.#put(observedNode(name, { ready: "Unknown", labels: labelsOf("ill") }));
  }

  /** Has the kubelet of a node report Ready again. */
  recover(name: string): void {
    const { labels, resourceVersion } = this.#nodeOf(name);
    this.#put(observedNode(name, { labels, resourceVersion: `${Number(resourceVersion) + 1}` }));
  }

  /** Taints a waiting node without a request of its zone. */
  taintUnrequested(name: string): void {
    this.#taint(name);
  }

  #nodeOf(name: string): ObservedNode {
    const node = this.#nodes.get(name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  }

  #receivedAs({ delayMs = 0, isDeaf = false }: Reception): Transport {
    const transport = this.#transport;
    const late = (receive: Receive): Receive => {
      return (payload, subject) => this.clock.after(delayMs, () => receive(payload, subject));
    };
    return {
      ...transport,
      subscribe: (pattern, receive) => {
        if (isDeaf && OWNER_SUBJECTS.test(pattern)) return () => {};
        return transport.subscribe(pattern, delayMs === 0 ? receive : late(receive));
      },
    };
  }

  #bus(service: ServiceName, member: string, transport: Transport): Bus {
    const { clock } = this;
    const shared = { log: recordingLog(), metrics: createMetrics(), mailboxMessagesMax: 1_000_000 };
    return typedBus({ transport, clock, cluster: "test", service, member, ...shared });
  }

  #put(node: ObservedNode): void {
    const before = this.#nodes.get(node.node);
    const shard = shardOf(node.node);
    const digest = this.#digests[shard] ?? EMPTY_DIGEST;
    const without = before === undefined ? digest : digestWithout(digest, node.node, nodeVersion(before));
    this.#digests[shard] = digestWith(without, node.node, nodeVersion(node));
    this.#nodes.set(node.node, node);
    this.#observer.publish("observed.node", node, null);
    this.#judge.publish("judged.node", this.#judgementOf(node), null);
  }

  #judgementOf(node: ObservedNode): BodyOf<"judged.node"> {
    const { uid, resourceVersion } = node;
    const zone = zoneKeyOf(node.labels);
    if (readyConditionOf(node)?.status === "True") return judgedNode(node.node, { uid, resourceVersion, zone });
    const eviction = this.#evicted.has(node.node) ? "evicted" : "toBeEvicted";
    return judgedNode(node.node, { uid, resourceVersion, zone, readiness: "unknown", ready: "Unknown", eviction });
  }

  #resync(shard: number, requestId: string): void {
    this.#resyncs.set(shard, (this.#resyncs.get(shard) ?? 0) + 1);
    for (const node of this.#nodes.values()) {
      if (shardOf(node.node) !== shard) continue;
      this.#observer.publish("observed.node", node, requestId);
      this.#judge.publish("judged.node", this.#judgementOf(node), requestId);
    }
    this.#pulse(shard, requestId);
  }

  #pulseLater(): void {
    this.clock.after(this.#profile.pulsePeriodMs, () => {
      for (let shard = 0; shard < SHARD_COUNT; shard++) this.#pulse(shard, null);
      this.#pulseLater();
    });
  }

  #pulse(shard: number, cause: string | null): void {
    const nodes = this.#digests[shard] ?? EMPTY_DIGEST;
    const synced = { synced: true, since: this.clock.wallMs() - 60_000 };
    const watches = { nodes: synced, leases: synced, pods: synced };
    const resyncs = this.#resyncs.get(shard) ?? 0;
    this.#observer.publish("observed.pulse", { shard, watches, nodes, pods: EMPTY_DIGEST, resyncs }, cause);
  }

  #carryOut({ id, body }: Message<"asked.taint">): void {
    this.granted.push(this.clock.monotonicMs());
    const { latencyMs, outcome = "ok", isForged = false } = this.#carry(body.node, this.#requests++);
    const report = (reported: BodyOf<"done.write">["outcome"], change: string): void => {
      const { node, uid } = body;
      const target = { ask: "asked.taint", kind: "Node", namespace: "", name: node, uid, node } as const;
      const result = { outcome: reported, retrying: false, latencyMs, change, detail: "", resourceVersion: null };
      this.#writer.publish("done.write", { ...target, ...result }, id);
    };
    if (isForged) report("refused", "");
    this.clock.after(latencyMs, () => {
      const isNew = outcome === "ok" && !this.#evicted.has(body.node);
      if (isNew) this.#taint(body.node);
      report(outcome, isNew ? "taints: +unreachable:NoExecute" : "");
    });
  }

  #drain({ body }: Message<"asked.drain">): void {
    this.granted.push(this.clock.monotonicMs());
    const { latencyMs } = this.#carry(body.node, this.#requests++);
    this.clock.after(latencyMs, () => {
      const node = this.#nodes.get(body.node);
      if (node === undefined || this.#evicted.has(body.node)) return;
      this.#evicted.add(body.node);
      this.landed.push(this.clock.monotonicMs());
      this.#judge.publish("judged.node", this.#judgementOf(node), null);
    });
  }

  #taint(name: string): void {
    const node = this.#nodeOf(name);
    this.#evicted.add(name);
    this.landed.push(this.clock.monotonicMs());
    const taints = [noExecute(UNREACHABLE, { timeAdded: apiTime(this.clock.wallMs()) })];
    this.#put({ ...node, taints, resourceVersion: `${Number(node.resourceVersion) + 1}` });
  }
}

function labelsOf(zone: string): Record<string, string> {
  return { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": zone };
}
