/**
 * The Kubernetes port of shadow mode. It sends no write. Instead it shows watches and live reads as they would be had
 * every write been made, so that everything behind the port continues: taints are granted, countdowns run, pods become
 * due. The outcomes of shadowed writes carry the changes, so that each process of a fleet shows the same. The changes
 * end with the last of these processes.
 */
import type { BodyOf } from "../../../../protocols/messages.ts";
import type { NodeShadowChange, ObservedNode, PodShadow } from "../../../../protocols/objects.ts";
import type {
  BoundPod,
  Bus,
  Clock,
  Io,
  Kube,
  ObjectRef,
  ReadPlace,
  ReadReply,
  Stop,
  Watch,
  Watched,
  WatchOptions,
  WatchSink,
  WriteReply,
  WriteRequest,
} from "../../../../protocols/ports.ts";
import { spanText } from "../../../domain/format.ts";
import { needsPods } from "../../../domain/node-conditions.ts";
import { BoundedMap } from "../../../structures/bounded-map.ts";
import { projectNode, projectPod, UNREPORTED } from "../watch/projection.ts";
import {
  type MadeByAnother,
  type SettledShadow,
  settledShadow,
  shadowedNode,
  shadowedNodeObject,
  withChange,
} from "./node-shadow.policy.ts";
import { settledPodShadow, shadowedPod, shadowedPodObject } from "./pod-shadow.policy.ts";

/** What the port of shadow mode needs. */
export interface ShadowKubeIo extends Pick<Io, "kube" | "log"> {
  readonly bus: Pick<Bus, "subscribe">;
  readonly clock: Pick<Clock, "soon" | "after">;
}

/** The unsent writes to one object. The revision grows with each. */
interface Unsent<S> {
  readonly uid: string;
  readonly shadow: S;
  readonly revision: number;
}

/** The watch of one resource, and where it reports. */
interface OpenWatch<T> {
  readonly watch: Watch<T>;
  readonly sink: WatchSink<T>;
}

/** Nodes with unsent writes kept at once: messages may name nodes that do not exist. */
const NODES_MAX = 20_000;
/**
 * How long after the renewal of its lease a silent node is shown with its own conditions again, in milliseconds. Its
 * kubelet would find them changed and post its status. By then the renewal has reached every reader.
 */
const STATUS_POST_MS = 1000;

type OpenWatches = { [K in keyof Watched]?: OpenWatch<Watched[K]> };

/** A port that writes nothing and shows nothing but the API: for readers that compare the two. */
export function readOnlyKube(kube: Kube, soon: (run: () => void) => void): Kube {
  return {
    watch: (what, sink, options) => kube.watch(what, sink, options),
    read: (ref, done, place) => kube.read(ref, done, place),
    readShown: (what, ref, done, need) => kube.readShown(what, ref, done, need),
    write: (_request, done) => soon(() => done({ outcome: "shadowed", detail: "shadow mode writes nothing" })),
    minorVersion: (done) => kube.minorVersion(done),
    leaseHistory: (fromVersion, done) => kube.leaseHistory(fromVersion, done),
    componentLeases: (done) => kube.componentLeases(done),
  };
}

/** The port of shadow mode in one process. */
export class ShadowKube implements Kube {
  readonly #io: ShadowKubeIo;
  readonly #readOnly: Kube;
  readonly #nodes = new BoundedMap<string, Unsent<NodeShadowChange>>(NODES_MAX);
  /** The unsent writes to pods by node and by `namespace/name`. */
  readonly #pods = new BoundedMap<string, Map<string, Unsent<PodShadow>>>(NODES_MAX);
  readonly #watches: OpenWatches = {};
  readonly #stops: readonly Stop[];

  constructor(io: ShadowKubeIo) {
    const { bus } = io;
    this.#io = io;
    this.#readOnly = readOnlyKube(io.kube, (run) => io.clock.soon(run));
    this.#stops = [
      bus.subscribe("done.write", "all", ({ body }) => this.#onWrite(body)),
      bus.subscribe("observed.node", "all", ({ body }) => this.#follow(body)),
      bus.subscribe("observed.pods", "all", ({ body }) => this.#followPods(body)),
      bus.subscribe("observed.gone", "all", ({ body }) => this.#forget(body.node)),
    ];
  }

  /** Ends its subscriptions. */
  stop(): void {
    for (const stop of this.#stops) stop();
  }

  watch<K extends keyof Watched>(what: K, sink: WatchSink<Watched[K]>, options?: WatchOptions): Watch<Watched[K]> {
    const sinks: { [R in keyof Watched]: () => WatchSink<Watched[R]> } = {
      nodes: () => this.#nodeSink(sink as WatchSink<ObservedNode>),
      leases: () => this.#leaseSink(sink as WatchSink<Watched["leases"]>),
      pods: () => this.#podSink(sink as WatchSink<BoundPod>),
      policies: () => sink as WatchSink<Watched["policies"]>,
      freezes: () => sink as WatchSink<Watched["freezes"]>,
    };
    const watch = this.#io.kube.watch(what, sinks[what](), options);
    const open = { watch, sink };
    Object.assign(this.#watches, { [what]: open });
    const stop = (): void => {
      if (this.#watches[what] === (open as unknown)) delete this.#watches[what];
      watch.stop();
    };
    return {
      state: () => watch.state(),
      held: (namespace, name) => watch.held(namespace, name),
      confirmedAt: () => watch.confirmedAt(),
      version: () => watch.version(),
      relist: (reason) => watch.relist(reason),
      refresh: (reason) => watch.refresh(reason),
      stop,
    };
  }

  read(ref: ObjectRef, done: (reply: ReadReply) => void, place?: ReadPlace): void {
    this.#io.kube.read(ref, (reply) => done(reply.outcome === "ok" ? this.#readReply(ref, reply) : reply), place);
  }

  /** Its watches show the API, and not the changes that were never sent. */
  readShown(
    _what: keyof Watched,
    ref: ObjectRef,
    done: (reply: ReadReply) => void,
    { place }: { readonly place: ReadPlace },
  ): void {
    this.read(ref, done, place);
  }

  write(request: WriteRequest, done: (reply: WriteReply) => void): void {
    this.#readOnly.write(request, done);
  }

  minorVersion(done: (minor: number | null) => void): void {
    this.#io.kube.minorVersion(done);
  }

  leaseHistory(...given: Parameters<Kube["leaseHistory"]>): void {
    this.#io.kube.leaseHistory(...given);
  }

  componentLeases(...given: Parameters<Kube["componentLeases"]>): void {
    this.#io.kube.componentLeases(...given);
  }

  #nodeSink(sink: WatchSink<ObservedNode>): WatchSink<ObservedNode> {
    return {
      changed: (node) => this.#showNode(node, sink),
      gone: (name, last) => {
        this.#forget(name);
        sink.gone(name, last);
      },
      state: (state) => sink.state(state),
    };
  }

  #leaseSink(sink: WatchSink<Watched["leases"]>): WatchSink<Watched["leases"]> {
    return {
      changed: (lease, waitedMs) => {
        sink.changed(lease, waitedMs);
        if (this.#nodes.get(lease.node)?.shadow.verdict === undefined) return;
        this.#io.clock.after(STATUS_POST_MS, () => this.#refreshNode(lease.node));
      },
      gone: (name, last) => sink.gone(name, last),
      state: (state) => sink.state(state),
    };
  }

  #podSink(sink: WatchSink<BoundPod>): WatchSink<BoundPod> {
    return {
      changed: (bound) => sink.changed(this.#shownPod(bound)),
      gone: (key, last) => {
        if (last !== null) this.#pods.get(last.node)?.delete(key);
        sink.gone(key, last);
      },
      state: (state) => sink.state(state),
    };
  }

  /** Records a write that was not sent, by this or another process. */
  #onWrite({ outcome, name, namespace, uid, node, nodeShadow, podShadow }: BodyOf<"done.write">): void {
    if (outcome !== "shadowed") return;
    if (nodeShadow !== undefined) {
      const known = this.#nodes.get(name);
      const before = known?.uid === uid ? known.shadow : {};
      this.#nodes.set(name, { uid, shadow: withChange(before, nodeShadow), revision: (known?.revision ?? 0) + 1 });
      this.#refreshNode(name);
    }
    if (podShadow !== undefined) {
      const key = `${namespace}/${name}`;
      const pods = this.#pods.get(node) ?? new Map<string, Unsent<PodShadow>>();
      const known = pods.get(key);
      const shadow = { ...(known?.uid === uid ? known.shadow : {}), ...podShadow };
      this.#pods.set(node, pods.set(key, { uid, shadow, revision: (known?.revision ?? 0) + 1 }));
      this.#refreshPod(namespace, name);
    }
  }

  /** Stores what the observing process shows of a node. Labels and annotations are not in its messages. */
  #follow(observed: ObservedNode): void {
    if (this.#watches.nodes !== undefined) return;
    const { node, uid, shadow = {} } = observed;
    if (!needsPods(observed)) this.#releasePods(node);
    const known = this.#nodes.get(node);
    const { labels, annotations } = known?.uid === uid ? known.shadow : {};
    const followed = { ...shadow, ...(labels && { labels }), ...(annotations && { annotations }) };
    if (Object.keys(followed).length === 0) this.#nodes.delete(node);
    else this.#nodes.set(node, { uid, shadow: followed, revision: (known?.revision ?? 0) + 1 });
  }

  #followPods({ node, pods }: BodyOf<"observed.pods">): void {
    if (this.#watches.pods !== undefined) return;
    const unsent = this.#pods.get(node) ?? new Map<string, Unsent<PodShadow>>();
    for (const { namespace, name, uid, shadow } of pods) {
      const key = `${namespace}/${name}`;
      if (shadow === undefined) unsent.delete(key);
      else unsent.set(key, { uid, shadow, revision: (unsent.get(key)?.revision ?? 0) + 1 });
    }
    if (unsent.size > 0) this.#pods.set(node, unsent);
  }

  #forget(node: string): void {
    this.#nodes.delete(node);
    this.#releasePods(node);
  }

  /** Shows a node again, because an unsent write or its lease has changed. */
  #refreshNode(name: string): void {
    const { nodes } = this.#watches;
    const real = nodes?.watch.held("", name) ?? null;
    if (nodes !== undefined && real !== null) this.#showNode(real, nodes.sink);
  }

  #refreshPod(namespace: string, name: string): void {
    const { pods } = this.#watches;
    const real = pods?.watch.held(namespace, name) ?? null;
    if (pods !== undefined && real !== null) pods.sink.changed(this.#shownPod(real));
  }

  #showNode(real: ObservedNode, sink: WatchSink<ObservedNode>): void {
    const node = this.#shownNode(real);
    sink.changed(node);
    if (!needsPods(node)) this.#releasePods(node.node);
  }

  /** The node as shown; drops unsent writes that the API has overtaken. */
  #shownNode(real: ObservedNode): ObservedNode {
    const unsent = this.#nodes.get(real.node);
    if (unsent === undefined) return real;
    const { shadow, made } = unsent.uid === real.uid ? this.#settled(unsent.shadow, real) : { shadow: null, made: [] };
    this.#note(real.node, made);
    if (shadow === null) {
      this.#nodes.delete(real.node);
      return real;
    }
    const hasChanged = JSON.stringify(shadow) !== JSON.stringify(unsent.shadow);
    const revision = hasChanged ? unsent.revision + 1 : unsent.revision;
    this.#nodes.set(real.node, { ...unsent, shadow, revision });
    return shadowedNode(real, shadow, revision);
  }

  #settled(shadow: NodeShadowChange, real: ObservedNode): SettledShadow {
    return settledShadow(shadow, real, this.#watches.leases?.watch.held("", real.node)?.renewedAt);
  }

  #note(node: string, made: readonly MadeByAnother[]): void {
    for (const { what, laterMs } of made) {
      const when = laterMs === null ? "" : ` ${spanText(Math.abs(laterMs))} ${laterMs < 0 ? "before" : "after"} Vigil`;
      this.#io.log.info(`another controller wrote what Vigil would have written${when}`, { node, change: what });
    }
  }

  #shownPod(bound: BoundPod): BoundPod {
    const { namespace, name, uid } = bound.pod;
    const pods = this.#pods.get(bound.node);
    const unsent = pods?.get(`${namespace}/${name}`);
    if (pods === undefined || unsent === undefined) return bound;
    const shadow = unsent.uid === uid ? settledPodShadow(unsent.shadow, bound) : null;
    if (shadow !== null) return shadowedPod(bound, shadow, unsent.revision);
    pods.delete(`${namespace}/${name}`);
    return bound;
  }

  /** Shows the pods of a node as they are: it has recovered or is gone. Vigil would have deleted them, but did not. */
  #releasePods(node: string): void {
    const unsent = this.#pods.get(node);
    if (unsent === undefined) return;
    this.#pods.delete(node);
    for (const key of unsent.keys()) {
      const [namespace = "", name = ""] = key.split("/");
      this.#refreshPod(namespace, name);
    }
  }

  #readReply({ kind, name }: ObjectRef, reply: Extract<ReadReply, { outcome: "ok" }>): ReadReply {
    const { object } = reply;
    if (kind === "Node") {
      const [real, unsent] = [projectNode(object, UNREPORTED), this.#nodes.get(name)];
      if (real === null || unsent?.uid !== real.uid) return reply;
      const { shadow } = this.#settled(unsent.shadow, real);
      return shadow === null ? reply : { outcome: "ok", object: shadowedNodeObject(object, shadow) };
    }
    const bound = kind === "Pod" ? projectPod(object, UNREPORTED) : null;
    if (bound === null) return reply;
    const { shadow } = this.#shownPod(bound).pod;
    return shadow === undefined ? reply : { outcome: "ok", object: shadowedPodObject(object, shadow) };
  }
}
