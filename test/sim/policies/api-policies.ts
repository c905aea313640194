/**
 * What the simulated API shows of node policies and freezes, and has shown for some minutes. It reads the objects by
 * rules of its own and shares no code with the services.
 */
import { type CheckedNode, zoneOf } from "../invariants.ts";
import type { World } from "../world.ts";
import { type Pause, type PolicyState, pausesIn, policyStateOf } from "./policy-state.ts";
import { POOL_LABEL } from "./pools.ts";

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

/** Between the zone and the policy of a domain. */
export const POLICY_SEPARATOR = "\0@";

/** The disruption domain of a node: its zone, and its policy where that sets rates. */
export function domainOf(snapshot: PolicySnapshot, { metadata }: CheckedNode): string {
  const zone = zoneOf(metadata.labels);
  const [policy, ...others] = policiesOf(snapshot, metadata.labels?.[POOL_LABEL]);
  const isOfZone = policy === undefined || others.length > 0 || policy.rates === null;
  return isOfZone ? zone : `${zone}${POLICY_SEPARATOR}${policy.name}`;
}

/** Whether a node of a pool is frozen at an instant by what a snapshot says. */
export function isFrozen(snapshot: PolicySnapshot, pool: string | undefined, atMs: number): boolean {
  const covers = ({ since, until }: Pause): boolean => (since ?? atMs) <= atMs && (until ?? Infinity) > atMs;
  const own = policiesOf(snapshot, pool);
  return [...snapshot.everywhere, ...own.flatMap(({ pauses }) => pauses)].some(covers) || own.some(isByMode);
}

/** What freezes the nodes of a pool in a snapshot, or will, by name: modes, and requests that end after an instant. */
export function freezesOf(snapshot: PolicySnapshot, pool: string | undefined, endsAfterMs: number): string[] {
  const lasting = (scope: string, pauses: readonly Pause[]): string[] =>
    pauses
      .filter(({ until }) => (until ?? Infinity) > endsAfterMs)
      .map(({ name, since }) => `${scope} ${name} ${since}`);
  const own = policiesOf(snapshot, pool).flatMap((policy) => [
    ...lasting(policy.name, policy.pauses),
    ...(isByMode(policy) ? [`${policy.name} by its mode`] : []),
  ]);
  return [...lasting("everywhere", snapshot.everywhere), ...own];
}

type ScopedPause = Pause & { readonly policy?: string };

const isByMode = ({ isFrozenByMode }: PolicyState): boolean => isFrozenByMode;

/** A text that is no list freezes all nodes, and so does a request without a name or a policy. */
function requestsIn(text: unknown): ScopedPause[] {
  try {
    const list: unknown = typeof text === "string" ? JSON.parse(text) : [];
    if (Array.isArray(list)) return pausesIn(list);
  } catch {
    // It is no JSON, so no list.
  }
  return pausesIn([{}]);
}

function textOf({ policies, everywhere }: PolicySnapshot): string {
  return JSON.stringify([[...policies], everywhere]);
}
