/** The Kubernetes port in a form for tests: replies as promises, watches as collections. It expects nothing. */
import type { WatchState } from "../../protocols/objects.ts";
import type { Kube, ObjectRef, ReadReply, Watch, Watched, WriteReply, WriteRequest } from "../../protocols/ports.ts";

/** One live read. */
export function read(kube: Kube, ref: ObjectRef): Promise<ReadReply> {
  return new Promise((resolve) => kube.read(ref, resolve));
}

/** One write. */
export function write(kube: Kube, request: WriteRequest): Promise<WriteReply> {
  return new Promise((resolve) => kube.write(request, resolve));
}

/** What a watch has delivered so far. */
export class Seen<K extends keyof Watched> {
  readonly watch: Watch;
  /** The last state of every existing object, by key. */
  readonly present = new Map<string, Watched[K]>();
  /** Everything delivered, in order: `changed <key>`, `gone <key>` and `synced` or `lost`. */
  readonly story: string[] = [];
  readonly states: WatchState[] = [];

  constructor(kube: Kube, what: K, keyOf: (object: Watched[K]) => string) {
    this.watch = kube.watch(what, {
      changed: (object) => {
        this.present.set(keyOf(object), object);
        this.story.push(`changed ${keyOf(object)}`);
      },
      gone: (key) => {
        this.present.delete(key);
        this.story.push(`gone ${key}`);
      },
      state: (state) => {
        this.states.push(state);
        this.story.push(state.synced ? "synced" : "lost");
      },
    });
  }
}

/** Watches nodes. */
export function seeNodes(kube: Kube): Seen<"nodes"> {
  return new Seen(kube, "nodes", ({ node }) => node);
}

/** Watches leases. */
export function seeLeases(kube: Kube): Seen<"leases"> {
  return new Seen(kube, "leases", ({ node }) => node);
}

/** Watches pods. */
export function seePods(kube: Kube): Seen<"pods"> {
  return new Seen(kube, "pods", ({ pod }) => `${pod.namespace}/${pod.name}`);
}
