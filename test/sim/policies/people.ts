/**
 * People who change node policies and freezes during a run: they create, change, break and delete them, freeze in every
 * way there is, and thaw. In the end they remove everything. They know no rule of Vigil.
 */
import type { Clock, Random, Stop } from "../../../protocols/ports.ts";
import { apiMicroTime } from "../../../services/domain/api-time.ts";
import type { Json, JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { type Resource, storedAs } from "../../../services/sandbox/apiserver/resources.ts";
import { between, oneOf } from "../chance.ts";
import type { SimulatedKubelet } from "../kubelet.ts";
import { type Reach, repeatedly } from "../meddler.ts";
import { dyingAgain } from "../plots.stage.ts";
import type { World } from "../world.ts";
import { reportCondition } from "./agent-conditions.ts";
import { FREEZE_OBJECT, POLICIES_STORAGE } from "./api-policies.ts";
import { CONDITION_TYPES, HOLD_TYPE } from "./condition-checks.ts";
import { memoryFieldsOf } from "./memories.ts";
import { EACH_MINUTE } from "./policy-state.ts";
import { POOL_LABEL, POOLS, type PolicyTheme } from "./pools.ts";
import { splittingAgain } from "./splits.ts";

const CONFIG_MAPS = storedAs("configmaps");
const AT_ONCE = { uid: null, resourceVersion: null, gracePeriodSeconds: 0 };

/** Starts the people of a run. The returned function ends their work and thaws everything. */
export function changePolicies(reach: Reach, random: Random): Stop {
  const { clock, swarm } = reach.world;
  const { everySeconds = 0, isRestarted = false, isSplit = false, memory } = swarm.policies ?? {};
  const people = new People(reach);
  const stopAgents = swarm.policies?.theme === "conditions" ? reporting(people, clock, random) : () => {};
  for (const pool of POOLS) if (random() < 0.7 || memory !== undefined) people.write(pool, people.fields(random));
  const pauseMs = (): number => -Math.log(1 - random()) * everySeconds * 1000;
  const stopActing = repeatedly(clock, pauseMs, () => people.act(random));
  // A new owner of the limits waits before it decides, so lives are long now and then.
  const deaths = { livesSeconds: oneOf(random, [[8, 50] as const, [60, 110] as const]), deadSeconds: [1, 8] } as const;
  const stopDying = isRestarted && memory === undefined ? dyingAgain(reach, random, deaths) : () => {};
  const rejoin = isSplit ? splittingAgain(reach, random) : () => {};
  return () => {
    stopActing();
    stopAgents();
    stopDying();
    rejoin();
    people.end(random);
  };
}

/** Agents on nodes report conditions again and again. */
function reporting(people: People, clock: Clock, random: Random): Stop {
  const pauseMs = (): number => between(random, 2, 12) * 1000;
  return repeatedly(clock, pauseMs, () => people.ail(random));
}

/** A request as it is written. */
type Written = { name: string; reason?: string; since?: string; until?: string; policy?: string };

/** The policies that people freeze; null is all nodes. */
const SCOPES: readonly (string | null)[] = [...POOLS, null];

/**
 * The share of the reports, while a node is dead, by which its maintenance begins or ends, as its repairer would report
 * it.
 */
const MAINTAINED_SHARE = 0.5;

type Act = readonly [times: number, act: (people: People, random: Random) => void];

/** What they do about freezes, and how often in comparison. */
const FREEZE_ACTS: readonly Act[] = [
  [6, (people, random) => people.freeze(random)],
  [5, (people, random) => people.thaw(oneOf(random, SCOPES), random() < 0.5)],
  [2, (people) => people.removeAll()],
];

/** What they do, and how often in comparison. */
const ACTS: readonly Act[] = [
  [3, (people, random) => people.write(oneOf(random, POOLS), people.fields(random))],
  [2, (people, random) => people.change(oneOf(random, POOLS), brokenFieldOf(random))],
  [1, (people, random) => people.remove(oneOf(random, POOLS))],
  [
    1,
    (people, random) => (random() < 0.5 ? people.write("a", people.fields(random), "a-too") : people.remove("a-too")),
  ],
  ...FREEZE_ACTS,
  [2, (people, random) => people.change(oneOf(random, POOLS), { mode: people.mode(random) })],
  [1, (people, random) => people.breakRequests(random)],
];

class People {
  readonly #reach: Reach;
  #requests = 0;
  readonly #ailing = new Set<string>();

  constructor(reach: Reach) {
    this.#reach = reach;
  }

  act(random: Random): void {
    const acts = this.#world.swarm.policies?.memory === undefined ? ACTS : FREEZE_ACTS;
    const sum = acts.reduce((all, [times]) => all + times, 0);
    let left = random() * sum;
    const chosen = acts.find(([times]) => {
      left -= times;
      return left < 0;
    });
    this.#reach.world.asWorld(() => chosen?.[1](this, random));
  }

  /** The fields of a new policy. */
  fields(random: Random): JsonObject {
    const { theme = "any", hasBothOrders = false, memory } = this.#world.swarm.policies ?? {};
    return memory === undefined ? fieldsOf(random, theme, hasBothOrders) : memoryFieldsOf(random, memory);
  }

  /** The mode of a policy from now on. */
  mode(random: Random): string {
    return oneOf(random, ["Freeze", "Enforce"]);
  }

  /** Creates a policy, or gives it other fields; its freezes stay. */
  write(pool: string, fields: JsonObject, name = pool): void {
    const selector = { matchLabels: { [POOL_LABEL]: pool } };
    const before = this.#spec(name);
    if (before !== null) {
      const { mode, pauseRequests } = before;
      const kept = {
        ...(mode === undefined ? {} : { mode }),
        ...(pauseRequests === undefined ? {} : { pauseRequests }),
      };
      this.#update(name, () => ({ selector, ...fields, ...kept }));
      return;
    }
    const resource = this.#resource();
    if (resource === null) return;
    const object = {
      apiVersion: "vigil.io/v1alpha1",
      kind: "NodePolicy",
      metadata: { name },
      spec: { selector, ...fields },
    };
    this.#count("policy created");
    this.#world.asWorld(() => this.#world.api.registry.create(resource, "", object));
  }

  /** Changes some fields of a policy. */
  change(name: string, fields: JsonObject): void {
    this.#update(name, (spec) => ({ ...spec, ...fields }));
  }

  remove(name: string): void {
    const resource = this.#resource();
    if (resource === null || this.#spec(name) === null) return;
    this.#count("policy deleted");
    this.#world.asWorld(() => this.#world.api.registry.delete({ resource, namespace: "", name }, AT_ONCE));
  }

  /** Freezes a policy or all nodes: at once, for later, or without saying since when. */
  freeze(random: Random): void {
    const scope = oneOf(random, SCOPES);
    const nowMs = this.#world.clock.wallMs();
    const startMs = nowMs + (random() < 0.25 ? between(random, 5, 30) * 1000 : 0);
    const endMs = startMs + between(random, 5, 60) * 1000;
    const request: Written = {
      name: `oncall-${++this.#requests}`,
      ...(random() < 0.85 ? { since: apiMicroTime(startMs) } : {}),
      ...(random() < 0.6 ? { until: apiMicroTime(endMs) } : {}),
    };
    const ofPolicy = scope !== null && random() < 0.5 && this.#spec(scope) !== null;
    this.#count(`freeze of ${scope === null ? "all nodes" : "a policy"}`);
    if (ofPolicy) this.#update(scope, (spec) => ({ ...spec, pauseRequests: [...written(spec), request] }));
    else this.#record((requests) => [...requests, { ...request, ...(scope === null ? {} : { policy: scope }) }]);
  }

  /** Ends the freezes of one policy or of all nodes, as `vigil thaw` does, or removes the requests. */
  thaw(scope: string | null, isRemoval: boolean): void {
    const nowMs = this.#world.clock.wallMs();
    const end = (requests: readonly Written[]): Written[] =>
      requests.flatMap((request) => {
        const isOver = request.until !== undefined && Date.parse(request.until) <= nowMs;
        if (isOver) return [request];
        const isLater = request.since !== undefined && Date.parse(request.since) > nowMs;
        return isRemoval || isLater ? [] : [{ ...request, until: apiMicroTime(nowMs) }];
      });
    this.#record((requests) => requests.flatMap((each) => ((each.policy ?? null) === scope ? end([each]) : [each])));
    if (scope !== null) this.#update(scope, (spec) => ({ ...spec, pauseRequests: end(written(spec)) }));
  }

  /** Removes the requests that ended a while ago. */
  removeAll(): void {
    const nowMs = this.#world.clock.wallMs();
    const isKept = ({ until }: Written): boolean => until === undefined || Date.parse(until) > nowMs - 12_000;
    this.#record((requests) => requests.filter(isKept));
    for (const name of POOLS) this.#update(name, (spec) => ({ ...spec, pauseRequests: written(spec).filter(isKept) }));
  }

  /** Writes something that is no list of requests; what was there is gone. */
  breakRequests(random: Random): void {
    this.#put({ pauseRequests: oneOf(random, BROKEN_REQUESTS) });
  }

  /** An agent reports another condition of some node, or ends; the repairer of a dead node reports its maintenance. */
  ail(random: Random): void {
    const kubelets = [...this.#world.kubelets.values()];
    const dead = kubelets.filter(({ alive }) => !alive);
    if (dead.length > 0 && random() < MAINTAINED_SHARE) {
      this.#report(oneOf(random, dead), HOLD_TYPE, oneOf(random, ["True", "False"]));
      return;
    }
    const kubelet = oneOf(random, kubelets);
    const type = oneOf(random, [...CONDITION_TYPES, HOLD_TYPE]);
    this.#report(kubelet, type, oneOf(random, ["True", "True", "True", "False", "Unknown", null]));
  }

  /**
   * Ends every unhealthy condition, thaws all nodes and removes every limit: by deleting the policies, or by leaving
   * only their selectors.
   */
  end(random: Random): void {
    for (const kubelet of this.#world.kubelets.values()) {
      if (kubelet.agentConditions.length === 0 && !this.#ailing.has(kubelet.name)) continue;
      for (const type of [...CONDITION_TYPES, HOLD_TYPE]) this.#report(kubelet, type, "False");
    }
    for (const scope of SCOPES) this.thaw(scope, false);
    this.remove("a-too");
    for (const name of [...POOLS, "a-too"]) {
      if (random() < 0.5) this.remove(name);
      else this.#update(name, ({ selector, pauseRequests }) => pick({ selector, pauseRequests }));
    }
  }

  #report(kubelet: SimulatedKubelet, type: string, status: string | null): void {
    if (!reportCondition(this.#world, kubelet, type, status)) return;
    this.#count("condition of an agent");
    this.#ailing.add(kubelet.name);
  }

  get #world(): World {
    return this.#reach.world;
  }

  #count(situation: string): void {
    this.#reach.count(situation);
  }

  #resource(): Resource | null {
    return this.#world.api.catalog.customAt(POLICIES_STORAGE)[0] ?? null;
  }

  #spec(name: string): JsonObject | null {
    const object = this.#world.api.store.collection(POLICIES_STORAGE).get("", name)?.object();
    return object === undefined ? null : ((object.spec ?? {}) as JsonObject);
  }

  #update(name: string, change: (spec: JsonObject) => JsonObject): void {
    const resource = this.#resource();
    if (resource === null || this.#spec(name) === null) return;
    this.#count("policy changed");
    this.#world.asWorld(() =>
      this.#world.api.registry.update({ resource, namespace: "", name }, "main", (object) => {
        return { ...object, spec: change((object.spec ?? {}) as JsonObject) };
      }),
    );
  }

  #record(change: (requests: readonly Written[]) => readonly Written[]): void {
    const { namespace, name } = FREEZE_OBJECT;
    const object = this.#world.api.store.collection("configmaps").get(namespace, name)?.object();
    const text = (object?.data as JsonObject | undefined)?.pauseRequests;
    this.#put({ pauseRequests: JSON.stringify(change(requestsIn(text))) });
  }

  #put(data: JsonObject): void {
    const { namespace, name } = FREEZE_OBJECT;
    const { api } = this.#world;
    const place = { resource: CONFIG_MAPS, namespace, name };
    this.#world.asWorld(() => {
      if (api.store.collection("configmaps").get(namespace, name) === undefined) {
        api.registry.create(CONFIG_MAPS, namespace, {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { namespace, name },
          data,
        });
      } else {
        api.registry.update(place, "main", (object) => ({
          ...object,
          data: { ...(object.data as JsonObject), ...data },
        }));
      }
    });
  }
}

function written({ pauseRequests }: JsonObject): Written[] {
  return Array.isArray(pauseRequests) ? pauseRequests.filter(isWritten) : [];
}

function isWritten(entry: unknown): entry is Written {
  return typeof entry === "object" && entry !== null && "name" in entry;
}

function requestsIn(text: Json | undefined): Written[] {
  try {
    const found: unknown = JSON.parse(typeof text === "string" ? text : "[]");
    return Array.isArray(found) ? found.filter(isWritten) : [];
  } catch {
    return [];
  }
}

/** Each field of a theme at some values, left out now and then. */
function fieldsOf(random: Random, theme: PolicyTheme, hasBothOrders: boolean): JsonObject {
  const chosen = FIELDS[theme].filter(([, share]) => random() < share);
  const valuesOf = (field: string, values: readonly Json[]): readonly Json[] =>
    hasBothOrders ? [...values, ...(OTHER_ORDERS[field] ?? [])] : values;
  return Object.fromEntries(chosen.map(([field, , values]) => [field, oneOf(random, valuesOf(field, values))]));
}

/** Values with durations in another order than those of the themes, among themselves or beside other fields. */
const OTHER_ORDERS: Readonly<Record<string, readonly Json[]>> = {
  /** Shorter than most values of nodeMonitorGracePeriod. */
  nodeStartupGracePeriod: ["20s"],
  /** A window that outlasts the time for which the breaker stays open, and one that is over long before. */
  circuitBreaker: [
    { maxNodes: 1, duration: "90s", resetAfter: "20s" },
    { maxNodes: 2, duration: "10s", resetAfter: "120s" },
  ],
  stormCooldownDuration: ["120s"],
  healthyDelay: ["50s"],
  unhealthyDelay: ["40s"],
  flapping: [
    { transitions: 2, window: "20s", holdDown: "60s" },
    { transitions: 3, window: "60s", holdDown: "60s" },
  ],
  /** A schedule that begins again before it is over. */
  budgets: [[{ nodes: 0, schedule: EACH_MINUTE, duration: "90s" }]],
  maintenance: [{ hold: [HOLD_TYPE], atMost: "5s" }],
};

/**
 * None lasts a minute. With QUIET a node admitted at the end of its part would leave the window at the end of the next
 * one, and milliseconds would decide, which no preview can know.
 */
const BREAKER_TIMES: readonly { readonly duration: string; readonly resetAfter: string }[] = [
  { duration: "20s", resetAfter: "15s" },
  { duration: "55s", resetAfter: "40s" },
  { duration: "30s", resetAfter: "90s" },
];
const BREAKER_COUNTS: readonly JsonObject[] = [
  { maxNodes: 1 },
  { maxNodes: 2 },
  { percentage: 20 },
  { percentage: 40, maxNodes: 3 },
];
const BREAKER_HOLDS: readonly JsonObject[] = [{}, { holds: ["Evictions", "Readiness"] }];
/** No node in the first part of each minute. */
const QUIET = { nodes: 0, schedule: EACH_MINUTE, duration: "25s" };

const DEADLOCK = {
  type: "KernelDeadlock",
  status: "True",
  duration: "10s",
  taint: { key: "vigil.io/deadlock", effect: "NoSchedule" },
};
const GPU_LOST = {
  type: "GpuLost",
  status: "True",
  duration: "15s",
  taint: { key: "vigil.io/gpu-lost", effect: "NoExecute", value: "vigil-all" },
};
const UNKNOWN = {
  type: "GpuLost",
  status: "Unknown",
  duration: "5s",
  taint: { key: "vigil.io/gpu-unknown", effect: "PreferNoSchedule" },
};

type Field = readonly [field: string, share: number, values: readonly Json[]];

const ANY: readonly Field[] = [
  ["nodeMonitorGracePeriod", 0.3, ["20s", "40s", "60s"]],
  ["nodeStartupGracePeriod", 0.2, ["30s", "60s"]],
  ["nodeEvictionRate", 0.25, [0.1, 0.2, 1, 2]],
  ["secondaryNodeEvictionRate", 0.15, [0.05, 0.2]],
  ["fullDisruptionEvictionRate", 0.15, [0, 0.5]],
  ["unhealthyZoneThreshold", 0.15, [0.8, 1]],
  ["maxUnhealthy", 0.35, [1, 2, "40%", "60%"]],
  [
    "circuitBreaker",
    0.5,
    BREAKER_COUNTS.flatMap((count) =>
      BREAKER_TIMES.flatMap((times) => BREAKER_HOLDS.map((holds) => ({ ...count, ...times, ...holds }))),
    ),
  ],
  ["stormCooldownDuration", 0.25, ["5s", "15s", "40s"]],
  ["healthyDelay", 0.25, ["5s", "15s"]],
  ["unhealthyDelay", 0.25, ["5s", "20s"]],
  [
    "flapping",
    0.25,
    [
      { transitions: 2, window: "60s", holdDown: "20s" },
      { transitions: 3, window: "120s", holdDown: "40s" },
    ],
  ],
  [
    "budgets",
    0.35,
    [
      [{ nodes: 0 }],
      [{ nodes: 1 }],
      [{ nodes: 2 }],
      [{ nodes: "40%" }, { nodes: 1 }],
      [{ nodes: "30%" }],
      [QUIET],
      [{ nodes: 2 }, QUIET],
    ],
  ],
];

/** A rate that is far from the profile's: the second node shows by which rate it was admitted. */
const RATES: readonly Field[] = [
  ["nodeMonitorGracePeriod", 0.3, ["20s", "40s"]],
  ["nodeEvictionRate", 0.9, [0.05, 0.1, 2]],
  ["secondaryNodeEvictionRate", 0.3, [0.05, 0.2]],
  ["fullDisruptionEvictionRate", 0.3, [0, 0.05]],
  ["unhealthyZoneThreshold", 0.3, [0.8, 1]],
];

const EVICTIONS: readonly Field[] = [
  ["nodeMonitorGracePeriod", 0.3, ["20s", "40s"]],
  ["budgets", 0.15, [[{ nodes: 2 }]]],
  [
    "evictions",
    0.95,
    [
      { maxPerMinute: 1 },
      { maxPerMinute: 3 },
      { maxPerNamespacePerMinute: 2 },
      { maxPerMinute: 4, maxPerNamespacePerMinute: 2 },
      { maxPerMinute: 0 },
    ],
  ],
];

/** A breaker stays open for much longer than its window lasts. */
const STORMS: readonly Field[] = [
  ["nodeMonitorGracePeriod", 0.3, ["20s", "40s"]],
  ["maxUnhealthy", 0.2, [2, "60%"]],
  [
    "circuitBreaker",
    0.95,
    [
      { maxNodes: 1, duration: "20s", resetAfter: "90s" },
      { maxNodes: 2, duration: "20s", resetAfter: "60s" },
      { percentage: 20, duration: "30s", resetAfter: "90s" },
    ],
  ],
  ["stormCooldownDuration", 0.4, ["15s", "40s"]],
];

const CONDITIONS: readonly Field[] = [
  ["nodeEvictionRate", 0.3, [0.2, 1, 2]],
  ["maxUnhealthy", 0.2, [1, "40%"]],
  ["maintenance", 0.6, ["20s", "40s"].map((atMost) => ({ hold: [HOLD_TYPE], atMost }))],
  ["healthyDelay", 0.4, ["5s", "15s"]],
  ["budgets", 0.3, [[{ nodes: 1 }], [{ nodes: 2 }]]],
  [
    "unhealthyConditions",
    0.95,
    [[DEADLOCK], [GPU_LOST], [DEADLOCK, GPU_LOST, UNKNOWN], [{ ...DEADLOCK, duration: "0s" }, GPU_LOST]],
  ],
];

/** No rate in full disruption, or one that is far from the primary one, by which few nodes go at once. */
const LOST_ZONE: readonly Field[] = [
  ["nodeMonitorGracePeriod", 1, ["20s"]],
  ["nodeEvictionRate", 1, [0.1, 0.2]],
  ["fullDisruptionEvictionRate", 0.8, [0, 0.02]],
];

/** A breaker with a window that is longer than the run. */
const WAVES: readonly Field[] = [
  ["nodeMonitorGracePeriod", 1, ["20s"]],
  ["circuitBreaker", 1, [2, 3].map((maxNodes) => ({ maxNodes, duration: "900s", resetAfter: "20s" }))],
];

/** What decides when nodes and pods go. */
const PREVIEWS: readonly Field[] = [
  ...ANY.filter(([field]) => field !== "healthyDelay" && field !== "flapping"),
  [
    "evictions",
    0.8,
    [
      { method: "Evict" },
      { method: "EvictThenDelete", deleteAfter: "20s" },
      { method: "EvictThenDelete", deleteAfter: "60s" },
      { maxPerMinute: 4, maxPerNamespacePerMinute: 2 },
      { maxPerMinute: 2, maxPerNamespacePerMinute: 3 },
      { method: "Evict", maxPerMinute: 2 },
      { method: "EvictThenDelete", deleteAfter: "20s", maxPerNamespacePerMinute: 2 },
    ],
  ],
];

const FIELDS: Readonly<Record<PolicyTheme, readonly Field[]>> = {
  any: ANY,
  rates: RATES,
  evictions: EVICTIONS,
  storms: STORMS,
  conditions: CONDITIONS,
  waves: WAVES,
  lostZone: LOST_ZONE,
  previews: PREVIEWS,
};

/** Texts of requests to freeze that cannot be read. */
const BROKEN_REQUESTS = ["oncall", "{}", '[{"reason": "maintenance"}]'];

/** Wrong fields, each of which counts as unset. */
const BROKEN_FIELDS: readonly JsonObject[] = [
  { maxUnhealthy: "most" },
  { circuitBreaker: { duration: "60s" } },
  { budgets: [{ nodes: 0, schedule: "0 0 31 2 *", duration: "1h" }] },
  { nodeEvictionRate: -1 },
  { nodeMonitorGracePeriod: "soon" },
  { mode: "Frozen" },
  { unhealthyConditions: [{ ...DEADLOCK, type: "Ready" }] },
  { color: "blue" },
];

function brokenFieldOf(random: Random): JsonObject {
  return oneOf(random, BROKEN_FIELDS);
}

/** What Vigil has to refuse of what people wrote, each as the beginning of a warning about it. */
export function refusedOf(world: World): string[] {
  const { namespace, name } = FREEZE_OBJECT;
  const data = world.api.store.collection("configmaps").get(namespace, name)?.object().data as JsonObject | undefined;
  const isBroken = BROKEN_REQUESTS.some((text) => text === data?.pauseRequests);
  const policies = world.objects<{ readonly metadata: { readonly name: string }; readonly spec?: JsonObject }>(
    POLICIES_STORAGE,
  );
  const refused = policies.filter(({ spec = {} }) =>
    BROKEN_FIELDS.some((fields) =>
      Object.entries(fields).every(([field, value]) => JSON.stringify(spec[field]) === JSON.stringify(value)),
    ),
  );
  return [
    ...(isBroken ? [`ConfigMap ${name}: `] : []),
    ...refused.map(({ metadata }) => `NodePolicy ${metadata.name}: `),
  ];
}

function pick(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject;
}
