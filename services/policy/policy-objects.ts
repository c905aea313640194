/**
 * The NodePolicy objects as one active policy service applies them. A change that may loosen something counts only once
 * the other source of freezes is confirmed (live-confirmation.ts).
 */
import { isDeepStrictEqual } from "node:util";
import type { Io, ObjectRef, PolicyResource, ReadReply, Watch } from "../../protocols/ports.ts";
import { listOf, recordOf } from "../structures/json.ts";
import { LiveConfirmation } from "./live-confirmation.ts";
import { onlyFreezes } from "./loosening.policy.ts";

const POLICIES: ObjectRef = { kind: "NodePolicy", namespace: "", name: "" };

/** What one policy service does about its objects. */
interface PolicyObjectsContext {
  /** Called when all objects are known for the first time, and whenever what counts of them changes. */
  readonly changed: () => void;
  /** Called when an object may loosen something; it counts as it was until `confirmed` is called. */
  readonly loosened: (confirmed: () => void) => void;
}

/** A change that waits for the other source; null for an object that is gone. */
interface WaitingChange {
  readonly resource: PolicyResource | null;
}

/** Whether two states of an object differ in their status at most, which this service writes itself and often. */
function isSamePolicy(left: PolicyResource, right: PolicyResource): boolean {
  const written = ({ status: _status, resourceVersion: _version, ...policy }: PolicyResource) => policy;
  return isDeepStrictEqual(written(left), written(right));
}

/** The objects, from a watch. */
export class PolicyObjects {
  readonly #context: PolicyObjectsContext;
  readonly #watch: Watch<PolicyResource>;
  readonly #counting = new Map<string, PolicyResource>();
  /** What the watch shows, without status changes that came while a change waits. */
  readonly #shown = new Map<string, PolicyResource>();
  readonly #waiting = new Map<string, WaitingChange>();
  /** Whether the watch has listed every object, or found that there are none. */
  #areListed = false;
  #areServed = true;
  /** Whether changes count at once, because nothing has been published that they could loosen. */
  isFirst = true;
  /** Confirms the objects for the other source. */
  readonly confirmation: LiveConfirmation;

  constructor(io: Pick<Io, "kube" | "clock">, context: PolicyObjectsContext) {
    this.#context = context;
    this.confirmation = new LiveConfirmation(io, {
      ref: POLICIES,
      isShown: (reply) => this.#isShown(reply),
      relist: (reason) => this.#watch.relist(reason),
    });
    this.#watch = io.kube.watch("policies", {
      changed: (resource) => this.#apply(resource.name, resource),
      gone: (name) => this.#apply(name, null),
      state: ({ synced }) => {
        this.#areServed ||= synced;
        if (synced) this.#known();
      },
      absent: () => {
        this.#areServed = false;
        this.#known();
      },
    });
  }

  /** The objects that count, by name. */
  get resources(): ReadonlyMap<string, PolicyResource> {
    return this.#counting;
  }

  get isKnown(): boolean {
    return this.#areListed;
  }

  /** Lists the objects again; until then they are not known. */
  readAgain(reason: string): void {
    this.#areListed = false;
    this.#watch.relist(reason);
  }

  stop(): void {
    this.confirmation.stop();
    this.#watch.stop();
  }

  #known(): void {
    if (this.#areListed) return;
    this.#areListed = true;
    this.#context.changed();
  }

  #apply(name: string, resource: PolicyResource | null): void {
    if (resource === null) this.#shown.delete(name);
    else this.#shown.set(name, resource);
    const before = this.#counting.get(name);
    const waiting = this.#waiting.get(name);
    if (resource !== null && waiting?.resource != null && isSamePolicy(waiting.resource, resource)) return;
    this.#waiting.delete(name);
    if (before !== undefined && resource !== null && isSamePolicy(before, resource)) this.#counting.set(name, resource);
    else if (this.isFirst || (before !== undefined && resource !== null && onlyFreezes(before, resource))) {
      this.#count(name);
    } else {
      const change = { resource };
      this.#waiting.set(name, change);
      this.#context.loosened(() => {
        if (this.#waiting.get(name) !== change) return;
        this.#waiting.delete(name);
        this.#count(name);
      });
    }
  }

  #count(name: string): void {
    const shown = this.#shown.get(name);
    if (shown === undefined) this.#counting.delete(name);
    else this.#counting.set(name, shown);
    this.#context.changed();
  }

  /** Whether the watch shows the objects that a live read shows, apart from their status. */
  #isShown(reply: ReadReply): boolean {
    if (reply.outcome !== "ok") return !this.#areServed;
    const items = listOf(reply.object.items).map((item) => recordOf(recordOf(item).metadata));
    const isShown = ({ name, uid, generation }: Readonly<Record<string, unknown>>): boolean => {
      const shown = this.#shown.get(String(name));
      return shown !== undefined && shown.uid === uid && shown.generation === generation;
    };
    return items.length === this.#shown.size && items.every(isShown);
  }
}
