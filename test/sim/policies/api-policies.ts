/**
 * What the simulated API shows of node policies and freezes, and has shown for some minutes. It reads the objects by
 * rules of its own and shares no code with the services.
 */
import type { World } from "../world.ts";
import { POOL_LABEL } from "./pools.ts";

/** A request to freeze nodes; instants are on the wall clock. */
export interface Pause {
  readonly name: string;
  readonly since: number | null;
  readonly until: number | null;
}

/** A number or a percentage of nodes. */
export type Count = number | `${number}%`;

/** A policy as far as the checks follow it. A wrong field counts as unset. */
export interface PolicyState {
  /** The pool that it selects. */
  readonly pool: string;
  readonly isFrozenByMode: boolean;
  readonly pauses: readonly Pause[];
  readonly maxUnhealthy: Count | null;
  readonly budgets: readonly Count[];
  readonly breaker: Breaker | null;
}

/** A circuit breaker that counts nodes. */
export interface Breaker {
  readonly maxNodes: number;
  readonly durationMs: number;
  readonly resetAfterMs: number;
}

/** What the API showed from an instant of the wall clock on. */
export interface PolicySnapshot {
  readonly fromMs: number;
  readonly policies: ReadonlyMap<string, PolicyState>;
  /** Requests for all nodes. */
  readonly everywhere: readonly Pause[];
}

/** The custom resource's collection in the API. */
export const POLICIES_STORAGE = "nodepolicies.vigil.io";
/** The object with the requests of `vigil freeze`. */
export const FREEZE_OBJECT = { namespace: "kube-system", name: "vigil-freeze" } as const;
/** How far back snapshots are kept: longer than any view is old. */
const KEPT_MS = 600_000;

/** Follows the policies of a world. */
export class ApiPolicies {
  readonly #world: World;
  readonly #snapshots: PolicySnapshot[];

  /** `changed` is called for each new snapshot. */
  constructor(world: World, changed: (now: PolicySnapshot) => void) {
    this.#world = world;
    this.#snapshots = [{ fromMs: Number.NEGATIVE_INFINITY, policies: new Map(), everywhere: [] }];
    const take = (): void => {
      const now = this.#read();
      const last = this.now;
      if (textOf(last) === textOf(now)) return;
      this.#snapshots.push(now);
      while ((this.#snapshots[1]?.fromMs ?? now.fromMs) < now.fromMs - KEPT_MS) this.#snapshots.shift();
      changed(now);
    };
    world.api.store.collection(POLICIES_STORAGE).listen(take);
    world.api.store.collection("configmaps").listen(take);
  }

  /** What the API shows now. */
  get now(): PolicySnapshot {
    const last = this.#snapshots.at(-1);
    if (last === undefined) throw new Error("there is always a snapshot");
    return last;
  }

  /** Everything that the API has shown since an instant, the state at that instant first. */
  since(fromMs: number): readonly PolicySnapshot[] {
    const first = this.#snapshots.findLastIndex((snapshot) => snapshot.fromMs <= fromMs);
    return this.#snapshots.slice(Math.max(0, first));
  }

  #read(): PolicySnapshot {
    const { api, clock } = this.#world;
    const object = api.store.collection("configmaps").get(FREEZE_OBJECT.namespace, FREEZE_OBJECT.name);
    const requests = object === undefined ? [] : requestsIn(JSON.parse(object.json).data?.pauseRequests);
    const policies = new Map<string, PolicyState>();
    for (const { name, json } of api.store.collection(POLICIES_STORAGE).sorted("")) {
      const own = requests.filter(({ policy }) => policy === name);
      const state = policyStateOf(JSON.parse(json).spec ?? {}, own);
      if (state !== null) policies.set(name, state);
    }
    return { fromMs: clock.wallMs(), policies, everywhere: requests.filter(({ policy }) => policy === undefined) };
  }
}

/** The policies that select a node of a pool: more than one conflict, and each freezes it. */
export function policiesOf({ policies }: PolicySnapshot, pool: string | undefined): (PolicyState & { name: string })[] {
  return [...policies].filter(([, state]) => state.pool === pool).map(([name, state]) => ({ ...state, name }));
}

/** Whether a node of a pool is frozen at an instant by what a snapshot says. */
export function isFrozen(snapshot: PolicySnapshot, pool: string | undefined, atMs: number): boolean {
  const covers = ({ since, until }: Pause): boolean => (since ?? atMs) <= atMs && (until ?? Infinity) > atMs;
  const own = policiesOf(snapshot, pool);
  return [...snapshot.everywhere, ...own.flatMap(({ pauses }) => pauses)].some(covers) || own.some(isByMode);
}

/** How many of so many nodes a count allows. */
export function allowed(count: Count, selected: number, rounding: "up" | "down"): number {
  if (typeof count === "number") return count;
  const share = (Number.parseInt(count, 10) * selected) / 100;
  return rounding === "up" ? Math.ceil(share) : Math.floor(share);
}

type Raw = Readonly<Record<string, unknown>>;
type ScopedPause = Pause & { readonly policy?: string };

const isByMode = ({ isFrozenByMode }: PolicyState): boolean => isFrozenByMode;
const isCount = (value: unknown): value is Count =>
  (typeof value === "number" && Number.isInteger(value) && value >= 0) ||
  (typeof value === "string" && /^\d{1,2}%$/.test(value));
const secondsOf = (value: unknown): number | null => {
  const found = typeof value === "string" ? /^(\d+)s$/.exec(value) : null;
  return found === null ? null : Number(found[1]) * 1000;
};

function policyStateOf(spec: Raw, recorded: readonly Pause[]): PolicyState | null {
  const { selector, mode, pauseRequests, maxUnhealthy, budgets = [] } = spec;
  const pool = (selector as { matchLabels?: Raw } | undefined)?.matchLabels?.[POOL_LABEL];
  if (typeof pool !== "string") return null;
  const areBudgets = Array.isArray(budgets) && budgets.every((budget) => isCount(budget.nodes) && !budget.schedule);
  return {
    pool,
    isFrozenByMode: mode === "Freeze" || mode === "Shadow",
    pauses: [...pausesIn(pauseRequests), ...recorded],
    maxUnhealthy: isCount(maxUnhealthy) ? maxUnhealthy : null,
    budgets: areBudgets ? budgets.map(({ nodes }) => nodes) : [],
    breaker: breakerOf(spec.circuitBreaker),
  };
}

function breakerOf(value: unknown): Breaker | null {
  const { maxNodes, duration, resetAfter } = (value ?? {}) as Raw;
  const [durationMs, resetAfterMs] = [secondsOf(duration), secondsOf(resetAfter)];
  if (typeof maxNodes !== "number" || durationMs === null || resetAfterMs === null) return null;
  return { maxNodes, durationMs, resetAfterMs };
}

function requestsIn(text: unknown): ScopedPause[] {
  try {
    const list: unknown = typeof text === "string" ? JSON.parse(text) : [];
    return Array.isArray(list) ? pausesIn(list.filter(({ name }) => typeof name === "string")) : [];
  } catch {
    return [];
  }
}

function pausesIn(list: unknown): ScopedPause[] {
  if (!Array.isArray(list)) return [];
  const at = (text: string | undefined): number | null => (text === undefined ? null : Date.parse(text));
  return list.map(({ name, since, until, policy }) => {
    return { name, since: at(since), until: at(until), ...(policy === undefined ? {} : { policy }) };
  });
}

function textOf({ policies, everywhere }: PolicySnapshot): string {
  return JSON.stringify([[...policies], everywhere]);
}
