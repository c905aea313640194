/**
 * What remediations promise: an object only for a node that is down, admitted for eviction and not frozen; never two at
 * once; gone after the node is healthy; and a proof only by one that has succeeded.
 */
import type { Change } from "../../../services/sandbox/apiserver/store/stored.ts";
import { BrokenInvariant, type CheckedNode, conditionOf, isPaced } from "../invariants.ts";
import { isDown, type PolicyView, RECOVERY_MS, SinceWhen } from "./policy-view.ts";
import { REMEDIATION_STORAGES } from "./remediators.ts";

const PROVED_DOWN = "vigil.v1/proved-down";
const TIMED_OUT = "remediation.medik8s.io/nhc-timed-out";
/** How long the reads before a creation and the creation are under way. */
const CROSSING_MS = 1_000;
/** How long a request that follows a read may be under way where requests are slow. */
const UNDER_WAY_MS = 5_000;
/** How long the object of a healthy node may stay: a few rounds, or many where requests fail. */
const HEALED_MS = { exact: 30_000 + RECOVERY_MS, chaos: 180_000 };

/** An object that has succeeded. */
interface Success {
  readonly createdMs: number;
  /** When it was last shown with its success. */
  readonly shownMs: number;
}

interface Read {
  readonly metadata: {
    readonly name: string;
    readonly deletionTimestamp?: string;
    readonly creationTimestamp: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** Follows the remediation objects of one run. */
export class RemediationChecks {
  readonly #view: PolicyView;
  readonly #checkFreeze: (node: string, what: string) => void;
  /** When each node was last shown as down and admitted for eviction. */
  readonly #downMs = new Map<string, number>();
  readonly #healthy = new SinceWhen();
  /** The last object of each node that has succeeded. */
  readonly #succeeded = new Map<string, Success>();
  #broken: unknown = null;

  constructor(view: PolicyView, checkFreeze: (node: string, what: string) => void) {
    this.#view = view;
    this.#checkFreeze = checkFreeze;
    const { world } = view.run;
    if (world.swarm.policies?.isRemediating !== true) return;
    for (const storage of REMEDIATION_STORAGES)
      world.api.store.collection(storage).listen((change) => this.#see(change));
  }

  /** Records a change of a node. */
  node(node: CheckedNode, isGone: boolean): void {
    const { name } = node.metadata;
    const before = this.#view.nodes.get(name);
    // Until this change it was as it was before.
    if (before !== undefined && isAdmitted(before)) this.#downMs.set(name, this.#view.nowMs);
    if (!isGone && isAdmitted(node)) this.#downMs.set(name, this.#view.nowMs);
  }

  /** Vigil wrote to a node. */
  wrote(before: CheckedNode, after: CheckedNode): void {
    const proof = after.metadata.annotations?.[PROVED_DOWN];
    if (proof === undefined || proof === before.metadata.annotations?.[PROVED_DOWN]) return;
    const { name } = after.metadata;
    const ready = conditionOf(before, "Ready");
    const silentMs = Date.parse(ready?.lastTransitionTime ?? "");
    this.#view.run.count("node proved down by a remediation");
    for (const object of this.#objects(name)) this.#noteSuccess(name, object);
    const { createdMs = Number.NEGATIVE_INFINITY, shownMs = 0 } = this.#succeeded.get(name) ?? {};
    const crossingMs = this.#view.isExact ? CROSSING_MS : UNDER_WAY_MS;
    const isProof = createdMs >= silentMs && this.#view.nowMs - shownMs <= crossingMs;
    if (ready?.status !== "Unknown") throw new BrokenInvariant(`${name} was proved down while it was not silent`);
    if (!isProof) throw new BrokenInvariant(`${name} was proved down by no remediation of this silence`);
  }

  /** Checks that the objects of healthy nodes have gone. */
  look(): void {
    if (this.#broken !== null) throw this.#broken;
    if (this.#view.swarm.policies?.isRemediating !== true) return;
    const { nowMs, isExact } = this.#view;
    const boundMs = isExact ? HEALED_MS.exact : HEALED_MS.chaos;
    for (const node of this.#view.nodes.values()) {
      const { name } = node.metadata;
      const isStale = conditionOf(node, "Ready")?.status === "True" && this.#objects(name).length > 0;
      this.#healthy.note(name, isStale, nowMs);
      const sinceMs = this.#healthy.of(name) ?? nowMs;
      if (nowMs - sinceMs <= boundMs || this.#view.wasDisturbed(nowMs - boundMs)) continue;
      throw new BrokenInvariant(`${name} has been healthy for ${nowMs - sinceMs} ms and still has a remediation`);
    }
  }

  /** An exception would look like a failing API server to Vigil, so it is kept. */
  #see({ type, now, before }: Change): void {
    // Until this change it was as it was before.
    if (before !== null) this.#noteSuccess(now.name, JSON.parse(before.json) as Read);
    if (type !== "ADDED" || this.#view.run.world.writer === "") return;
    try {
      this.#created(now.name);
    } catch (error) {
      this.#broken ??= error;
    }
  }

  #noteSuccess(name: string, { status, metadata }: Read): void {
    if (status?.conditions?.some((each) => each.type === "Succeeded" && each.status === "True") !== true) return;
    this.#succeeded.set(name, { createdMs: Date.parse(metadata.creationTimestamp), shownMs: this.#view.nowMs });
  }

  #created(name: string): void {
    const { run, nowMs, unknownMs, isExact } = this.#view;
    run.count("remediation created");
    this.#checkFreeze(name, "remediated");
    const node = this.#view.nodes.get(name);
    const isNow = node !== undefined && isAdmitted(node);
    const lateMs = nowMs - (this.#downMs.get(name) ?? Number.NEGATIVE_INFINITY);
    if (!isNow && lateMs > (isExact ? CROSSING_MS : unknownMs)) {
      throw new BrokenInvariant(`${name} got a remediation although it was healthy or not admitted for ${lateMs} ms`);
    }
    const active = this.#objects(name).filter(({ metadata }) => metadata.annotations?.[TIMED_OUT] === undefined);
    if (active.length > 1) throw new BrokenInvariant(`${name} has two remediations at once`);
    if (this.#objects(name).length > 1) run.count("second remediation of a node");
  }

  #objects(name: string): Read[] {
    const { store } = this.#view.run.world.api;
    return REMEDIATION_STORAGES.flatMap((storage) => {
      const stored = store.collection(storage).get("default", name);
      return stored === undefined ? [] : [JSON.parse(stored.json) as Read];
    });
  }
}

/** Whether a node is down and carries the NoExecute taint of an eviction. */
function isAdmitted(node: CheckedNode): boolean {
  return isDown(node) && node.spec?.taints?.some(isPaced) === true;
}
