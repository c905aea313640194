/**
 * No list leads back in time: a process never publishes an older state of an object after a newer one. Only a list from
 * a stale server could cause that. After a restored backup older states are correct, and the check is off.
 */
import type { AnyMessage, Message } from "../../protocols/messages.ts";
import { childObject, textOf } from "../../services/sandbox/apiserver/api-objects.ts";
import { BrokenInvariant } from "./invariants.ts";
import type { FaultClass } from "./swarm.ts";
import type { World } from "./world.ts";

/** The messages that show objects: each by its kind in the API. */
export const SHOWING: ReadonlySet<string> = new Set(["observed.node", "observed.pods", "observed.lease"]);

/** The faults by which a list may be old. */
const OLD: readonly FaultClass[] = ["staleReplica", "staleServers"];
/** How many renewals of a lease are kept. */
const RENEWALS_KEPT = 128;

/** A state that a process has published: the larger its order, the later it is. */
interface Shown {
  readonly order: number;
  readonly atMs: number;
}

/** Whether a run may meet an old list. Only then are its messages decoded. */
export function mayGoBack({ swarm }: Pick<World, "swarm">): boolean {
  return OLD.some((name) => swarm.faults.has(name));
}

/** Follows what processes publish of nodes, pods and leases. */
export class OlderLists {
  readonly #world: World;
  readonly #diedMs: (member: string) => number;
  /** The newest state by process and object. */
  readonly #shown = new Map<string, Shown>();
  /** The renewals of each lease in the order in which the API had them. */
  readonly #renewals = new Map<string, number[]>();

  /** `diedMs` is when a process died last. */
  constructor(world: World, diedMs: (member: string) => number) {
    this.#world = world;
    this.#diedMs = diedMs;
    if (!mayGoBack(world)) return;
    world.api.store.collection("leases").listen(({ type, now }) => {
      const renewedAt = Date.parse(textOf(childObject(now.object(), "spec"), "renewTime"));
      const known = type === "DELETED" ? [] : (this.#renewals.get(now.name) ?? []);
      this.#renewals.set(now.name, [...known.slice(1 - RENEWALS_KEPT), renewedAt]);
    });
  }

  /** Checks a message that a process publishes. */
  check(message: AnyMessage, member: string): void {
    if (this.#world.isRestored) return;
    if (is(message, "observed.node")) {
      const { node, uid, resourceVersion } = message.body;
      this.#note(member, { name: `node ${node}`, key: uid }, Number(resourceVersion));
    } else if (is(message, "observed.pods")) {
      for (const { name, uid, resourceVersion } of message.body.pods) {
        if (resourceVersion !== undefined)
          this.#note(member, { name: `pod ${name}`, key: uid }, Number(resourceVersion));
      }
    } else if (is(message, "observed.lease")) {
      for (const { node, kind, renewedAt } of message.body.heartbeats) {
        if (kind !== "lease" || renewedAt === null) continue;
        this.#noteRenewal(member, node, renewedAt);
      }
    }
  }

  /** The place of a renewal in its list moves as older ones are dropped, so the renewal itself is kept. */
  #noteRenewal(member: string, node: string, renewedAt: number): void {
    const renewals = this.#renewals.get(node) ?? [];
    const key = `${member} lease ${node}`;
    const before = this.#of(key, member);
    const order = renewals.lastIndexOf(renewedAt);
    if (order < 0) return;
    if (before !== null && renewals.lastIndexOf(before.order) > order) throw wentBack(member, `lease ${node}`);
    this.#shown.set(key, { order: renewedAt, atMs: this.#world.clock.monotonicMs() });
  }

  #note(member: string, { name, key }: { readonly name: string; readonly key: string }, order: number): void {
    const before = this.#of(`${member} ${key}`, member);
    if (before !== null && order < before.order) throw wentBack(member, name);
    this.#shown.set(`${member} ${key}`, { order, atMs: this.#world.clock.monotonicMs() });
  }

  /** What a process has published in its present life; what it sent as it was killed is of the one before. */
  #of(key: string, member: string): Shown | null {
    const shown = this.#shown.get(key);
    return shown === undefined || shown.atMs <= this.#diedMs(member) ? null : shown;
  }
}

function wentBack(member: string, name: string): BrokenInvariant {
  return new BrokenInvariant(`${member} published an older state of ${name} than before: a list went back`);
}

function is<T extends AnyMessage["type"]>(message: AnyMessage, type: T): message is Extract<AnyMessage, Message<T>> {
  return message.type === type;
}
