/**
 * The Kubernetes port on objects in memory. Watches and live reads return what it was given. It accepts no write, so
 * callers wrap it in the port of shadow mode.
 */
import { FREEZE_CONFIG_MAP, HEARTBEATS_LEASE } from "../../../protocols/names.ts";
import type {
  Clock,
  Kube,
  KubeObject,
  ObjectRef,
  ReadPlace,
  ReadReply,
  Watch,
  Watched,
  WatchSink,
} from "../../../protocols/ports.ts";
import { projectFreezes, UNREPORTED } from "../../platform/kube/watch/projection.ts";
import { leaseObject, nodeObject, podObject, policyObject } from "./raw-objects.ts";

const KEYS: { readonly [K in keyof Watched]: (object: Watched[K]) => string } = {
  nodes: ({ node }) => node,
  leases: ({ node }) => node,
  pods: ({ pod }) => `${pod.namespace}/${pod.name}`,
  policies: ({ name }) => name,
  freezes: ({ name }) => name,
};

/** The name of an object within its resource, as a watch names it. */
export function watchedKey<K extends keyof Watched>(what: K, object: Watched[K]): string {
  return KEYS[what](object);
}

type Sinks = { [K in keyof Watched]?: WatchSink<Watched[K]> };
type Objects = { readonly [K in keyof Watched]: Map<string, Watched[K]> };

/** A cluster in memory. */
export class SnapshotKube implements Kube {
  readonly #clock: Pick<Clock, "wallMs" | "soon">;
  readonly #beganAt: number;
  readonly #freezes: KubeObject | null;
  readonly #objects: Objects = {
    nodes: new Map(),
    leases: new Map(),
    pods: new Map(),
    policies: new Map(),
    freezes: new Map(),
  };
  readonly #sinks: Sinks = {};
  #arePoliciesListed = false;

  /** Its first instant is the present one; until then nodes were heard. `freezes` is the ConfigMap of freezes. */
  constructor(clock: Pick<Clock, "wallMs" | "soon">, freezes: KubeObject | null) {
    this.#clock = clock;
    this.#beganAt = clock.wallMs();
    this.#freezes = freezes;
    const projected = freezes === null ? null : projectFreezes(freezes, UNREPORTED);
    if (projected !== null) this.put("freezes", projected);
  }

  /** Adds or replaces an object. */
  put<K extends keyof Watched>(what: K, object: Watched[K]): void {
    this.#objects[what].set(watchedKey(what, object), object);
    this.#sinks[what]?.changed(object);
  }

  get<K extends keyof Watched>(what: K, key: string): Watched[K] | undefined {
    return this.#objects[what].get(key);
  }

  /** Ends the lists of policies and freezes, which last until then. */
  listPolicies(): void {
    this.#arePoliciesListed = true;
    for (const what of ["policies", "freezes"] as const) if (this.#sinks[what] !== undefined) this.#listed(what);
  }

  watch<K extends keyof Watched>(what: K, sink: WatchSink<Watched[K]>): Watch<Watched[K]> {
    const sinks: { [R in keyof Watched]?: WatchSink<Watched[R]> } = this.#sinks;
    this.#clock.soon(() => {
      Object.assign(sinks, { [what]: sink });
      for (const object of this.#objects[what].values()) sink.changed(object);
      if (this.#arePoliciesListed || (what !== "policies" && what !== "freezes")) this.#listed(what);
    });
    return {
      state: () => this.#state(),
      held: (namespace, name) => this.get(what, what === "pods" ? `${namespace}/${name}` : name) ?? null,
      confirmedAt: () => this.#clock.wallMs(),
      version: () => "1",
      relist: () => {},
      refresh: () => {},
      stop: () => {
        delete sinks[what];
      },
    };
  }

  read(ref: ObjectRef, done: (reply: ReadReply) => void, place?: ReadPlace): void {
    this.#clock.soon(() => {
      place?.sent?.();
      const object = this.#object(ref);
      done(object === null ? { outcome: "gone", detail: "the snapshot has none" } : { outcome: "ok", object });
    });
  }

  readShown(
    _what: keyof Watched,
    ref: ObjectRef,
    done: (reply: ReadReply) => void,
    { place }: { readonly place: ReadPlace },
  ): void {
    this.read(ref, done, place);
  }

  write(): void {
    throw new Error("a snapshot takes no write");
  }

  minorVersion(done: (minor: number | null) => void): void {
    this.#clock.soon(() => done(null));
  }

  leaseHistory(_fromVersion: string, done: (renewals: null) => void): void {
    this.#clock.soon(() => done(null));
  }

  componentLeases(done: (renewTimes: null) => void): void {
    this.#clock.soon(() => done(null));
  }

  #state() {
    return { synced: true, since: this.#beganAt };
  }

  #listed(what: keyof Watched): void {
    this.#sinks[what]?.state(this.#state());
  }

  #object({ kind, namespace, name }: ObjectRef): KubeObject | null {
    const { nodes, leases, pods, policies } = this.#objects;
    const made = <T>(object: T | undefined, make: (object: T) => KubeObject) =>
      object === undefined ? null : make(object);
    if (kind === "Node") return made(nodes.get(name), nodeObject);
    if (kind === "Pod") return made(pods.get(`${namespace}/${name}`), podObject);
    if (kind === "Lease" && name === HEARTBEATS_LEASE.name) return leaseObject(name, this.#beganAt);
    if (kind === "Lease") return made(leases.get(name), ({ renewedAt }) => leaseObject(name, renewedAt));
    if (kind === "ConfigMap" && name === FREEZE_CONFIG_MAP.name) return this.#freezes;
    if (kind !== "NodePolicy" || name !== "") return null;
    return { metadata: { name }, items: [...policies.values()].map(policyObject) };
  }
}
