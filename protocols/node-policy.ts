/**
 * The fields of a NodePolicy as users write them: the same in the custom resource, under `policies:` of --config and in
 * `judged.policy`. Each field has one clear message for an invalid value. services/domain/node-policy.parse.ts turns
 * the fields into a NodePolicy with whole units (policy-set.ts).
 */
import { z } from "zod";
import { ConditionType, DOWN_PROOFS, OWN_TAINT_VALUE } from "./names.ts";

/** API group, version and kind of the custom resource. */
export const NODE_POLICY_API = { group: "vigil.io", version: "v1alpha1", kind: "NodePolicy", plural: "nodepolicies" };

/** A duration as Kubernetes writes it: `90s`, `1m30s`, `500ms`, `2h`. */
const DURATION_PATTERN = "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$";
/** A number of nodes, or a share of the selected ones. */
const NODE_COUNT_PATTERN = "^((100|[0-9]{1,2})%|[0-9]{1,9})$";
/** A label key: an optional DNS subdomain and a slash, then a name of up to 63 characters. */
const LABEL_KEY_PATTERN = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
/** A label value: empty, or up to 63 characters. */
const LABEL_VALUE_PATTERN = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";

/** An API group with a dot in its name, and a version: a core or built-in group has no template. */
const GROUP_VERSION_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+/v[0-9][a-z0-9]*$";
const TEMPLATE_KIND_PATTERN = "^[A-Z][A-Za-z0-9]{0,52}Template$";
const DNS_LABEL_PATTERN = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";
const DNS_SUBDOMAIN_PATTERN = "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$";

const TEXT_MAX = 1024;
const ENTRIES_MAX = 64;
/** Most remediations of one policy, one after the other. */
const REMEDIATIONS_MAX = 8;
/** No policy needs more nodes or evictions than this; the CRD has the same limit. */
const COUNT_MAX = 1_000_000_000;

/**
 * What a refinement requires, in the words of a schema: the CRD has it too, so that the API server refuses what the
 * parser would. A structural schema has no word for the keys of a map, for cron schedules and time zones, and for two
 * entries that are alike in a part; these only the parser refuses, and the policy's status says so.
 */
const never = (words: Readonly<Record<string, unknown>>) => ({ not: words });
const needs = (...fields: readonly string[]) => ({ required: fields });

/** The message of an invalid value: the value and the fix. The path before it names the field. */
const wrong = (fix: string) => ({
  error: (issue: { readonly input?: unknown }) =>
    issue.input === undefined ? `missing; write ${fix}` : `${shown(issue.input)}: write ${fix}`,
});

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 80 ? text : `${text.slice(0, 77)}…`;
}

const text = (fix: string) =>
  z.string(wrong(fix)).min(1, wrong(fix)).max(TEXT_MAX, `has more than ${TEXT_MAX} characters`);
const matching = (pattern: string, fix: string) =>
  z.string(wrong(fix)).max(TEXT_MAX, wrong(fix)).regex(new RegExp(pattern), wrong(fix));
const list = <S extends z.ZodType>(entry: S, fix: string) =>
  z.array(entry, wrong(fix)).max(ENTRIES_MAX, `at most ${ENTRIES_MAX} entries`);
const record = <S extends z.ZodRawShape>(shape: S, fix: string) => z.strictObject(shape, wrong(fix));
const choice = <const V extends readonly [string, ...string[]]>(values: V) =>
  z.enum(values, wrong(values.join(" or ")));

const duration = matching(DURATION_PATTERN, "a duration such as 90s or 1m30s");
const positive = duration
  .refine((value) => /[1-9]/.test(value), wrong("a duration longer than 0, such as 90s"))
  .meta(never({ pattern: "^[^1-9]*$" }));
const rate = z
  .number(wrong("a number such as 0.1"))
  .min(0, wrong("0 or more"))
  .max(COUNT_MAX, wrong("a smaller number"));
const fraction = z.number(wrong("a number between 0 and 1")).min(0, wrong("0 or more")).max(1, wrong("1 or less"));
const countOf = (least: number, fix: string) =>
  z.int(wrong(fix)).min(least, wrong(fix)).max(COUNT_MAX, wrong("a smaller number"));
const NODE_COUNT_FIX = "a number of nodes or a percentage, such as 2 or 20%";
const nodeCount = z.union(
  [countOf(0, NODE_COUNT_FIX), matching(NODE_COUNT_PATTERN, NODE_COUNT_FIX)],
  wrong(NODE_COUNT_FIX),
);
const labelKey = matching(LABEL_KEY_PATTERN, "a label key such as example.com/pool");
const labelValue = matching(LABEL_VALUE_PATTERN, "a label value such as gpu");
const instant = matching(
  "^[0-9]{4}-[0-9]{2}-[0-9]{2}T(([01][0-9]|2[0-3])(:[0-5][0-9]){2}(\\.[0-9]+)?|24:00:00)(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$",
  "an instant such as 2026-01-31T12:00:00Z",
).meta({ format: "date-time" });
const CONDITION_TYPE_FIX = "a condition type such as KernelDeadlock";
const HOLD_TYPE_FIX = "a condition type such as DrainInProgress";
const notReady = never({ enum: ["Ready"] });
const holdType = matching(LABEL_KEY_PATTERN, HOLD_TYPE_FIX)
  .refine((type) => type !== "Ready", wrong(`${HOLD_TYPE_FIX}; a ready node is not in maintenance`))
  .meta(notReady);
const unhealthyType = matching(LABEL_KEY_PATTERN, CONDITION_TYPE_FIX)
  .refine((type) => type !== "Ready", wrong(`${CONDITION_TYPE_FIX}; Ready has taints of its own`))
  .meta(notReady);

/** The conditions of Kubernetes that are False on a healthy node: a rule for that status would taint them all. */
const FALSE_IF_HEALTHY: readonly string[] = Object.values(ConditionType).filter((type) => type !== "Ready");
const isOfIllness = ({ type, status }: { readonly type: string; readonly status: string }): boolean =>
  status !== "False" || !FALSE_IF_HEALTHY.includes(type);

const expression = record(
  {
    key: labelKey,
    operator: choice(["In", "NotIn", "Exists", "DoesNotExist"]),
    values: list(labelValue, "a list of label values").optional(),
  },
  "{key: pool, operator: In, values: [gpu]}",
)
  .refine(
    ({ operator, values = [] }) => operator.endsWith("In") === values.length > 0,
    "In and NotIn need values; Exists and DoesNotExist have none",
  )
  .meta({
    anyOf: [
      { ...needs("values"), properties: { operator: { enum: ["In", "NotIn"] }, values: { minItems: 1 } } },
      { properties: { operator: { enum: ["Exists", "DoesNotExist"] }, values: { maxItems: 0 } } },
    ],
  });

const labels = z
  .record(labelKey, labelValue, wrong("labels such as {pool: gpu}"))
  .refine((written) => Object.keys(written).length <= ENTRIES_MAX, `at most ${ENTRIES_MAX} labels`)
  .meta({ maxProperties: ENTRIES_MAX });

const selector = record(
  {
    matchLabels: labels.optional(),
    matchExpressions: list(expression, "a list of {key, operator, values}").optional(),
  },
  "a label selector such as {matchLabels: {pool: gpu}}",
);

/** A user who freezes nodes. */
export const pauseRequestSchema = record(
  {
    name: text("who pauses it, such as oncall"),
    reason: text("why, such as network maintenance").optional(),
    since: instant.optional(),
    until: instant.optional(),
  },
  "{name: oncall, reason: network maintenance}",
);

/** What an open circuit breaker may block: further evictions, and marks of the pods of silent nodes as not ready. */
const BREAKER_HOLDS = ["Evictions", "Readiness"] as const;
const HOLDS_FIX = "[Evictions], or [Evictions, Readiness]";

const circuitBreaker = record(
  {
    percentage: countOf(1, "a percentage from 1 to 100, without %").max(100, wrong("100 or less")).optional(),
    maxNodes: countOf(1, "a number of nodes, such as 5").optional(),
    duration: positive,
    resetAfter: positive.optional(),
    holds: list(choice(BREAKER_HOLDS), HOLDS_FIX)
      .refine((holds) => holds.includes("Evictions"), wrong(HOLDS_FIX))
      .meta(never({ items: { enum: ["Readiness"] } }))
      .optional(),
  },
  "{percentage: 10, maxNodes: 5, duration: 10m, resetAfter: 30m}",
)
  .refine(
    ({ percentage, maxNodes }) => percentage !== undefined || maxNodes !== undefined,
    "write percentage, maxNodes or both: how many nodes newly admitted for eviction trip it",
  )
  .meta({ anyOf: [needs("percentage"), needs("maxNodes")] });

const budget = record(
  {
    nodes: nodeCount,
    schedule: text('a cron schedule such as "0 9 * * 1-5"').optional(),
    timeZone: text("a time zone such as Europe/Berlin").optional(),
    duration: positive.optional(),
  },
  '{nodes: 10%}, or {nodes: 0, schedule: "0 9 * * 1-5", duration: 8h}',
)
  .refine(
    ({ schedule, duration: length }) => (schedule === undefined) === (length === undefined),
    "schedule and duration belong together: when the budget begins to hold, and for how long",
  )
  .refine(
    ({ schedule, timeZone }) => timeZone === undefined || schedule !== undefined,
    "timeZone belongs to a schedule",
  )
  .meta({
    anyOf: [needs("schedule", "duration"), never({ anyOf: [needs("schedule"), needs("duration"), needs("timeZone")] })],
  });

/** Key prefixes of the taints that belong to Kubernetes' own controllers. */
const RESERVED_TAINT_PREFIXES = ["node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"];

/** Whether a taint key belongs to Kubernetes' own controllers. */
export function isReservedTaintKey(key: string): boolean {
  return RESERVED_TAINT_PREFIXES.some((prefix) => key.startsWith(prefix));
}

/** A label value that says whose the taint is: it is removed with its rule. */
const OWN_VALUE_PATTERN = `^${OWN_TAINT_VALUE}(-[-A-Za-z0-9_.]{0,56}[A-Za-z0-9])?$`;
const OWN_VALUE_FIX = `${OWN_TAINT_VALUE}, or a value that begins with ${OWN_TAINT_VALUE}-, such as ${OWN_TAINT_VALUE}-gpu`;

const taint = record(
  {
    key: labelKey
      .refine(
        (key) => !isReservedTaintKey(key),
        wrong("a key of your own, such as vigil.io/kernel-deadlock; this one belongs to Kubernetes"),
      )
      .meta(never({ pattern: `^(${RESERVED_TAINT_PREFIXES.join("|").replaceAll(".", "\\.")})` })),
    value: matching(OWN_VALUE_PATTERN, OWN_VALUE_FIX).optional(),
    effect: choice(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
  },
  "{key: vigil.io/kernel-deadlock, effect: NoSchedule}",
);

const TEMPLATE_API_FIX =
  "group/version, such as self-node-remediation.medik8s.io/v1alpha1; the core group has no template";
const TEMPLATE_KIND_FIX = "the kind of a template, such as SelfNodeRemediationTemplate";

const remediation = record(
  {
    timeout: positive,
    template: record(
      {
        apiVersion: matching(GROUP_VERSION_PATTERN, TEMPLATE_API_FIX),
        kind: matching(TEMPLATE_KIND_PATTERN, TEMPLATE_KIND_FIX),
        namespace: matching(DNS_LABEL_PATTERN, "the template's namespace"),
        name: matching(DNS_SUBDOMAIN_PATTERN, "the template's name"),
      },
      "{apiVersion: …, kind: SelfNodeRemediationTemplate, namespace: …, name: …}",
    ),
    dryRun: z.boolean(wrong("true or false")).optional(),
  },
  "{timeout, template}",
);

/** Two templates of one kind would make two objects with one name: that of the node. */
const remediations = list(remediation, "a list of {timeout, template}")
  .max(REMEDIATIONS_MAX, `at most ${REMEDIATIONS_MAX} entries`)
  .refine(
    (steps) =>
      new Set(steps.map(({ template }) => `${template.apiVersion.split("/")[0]} ${template.kind}`)).size ===
      steps.length,
    "two templates of one kind: name each kind once, because its object has the name of the node",
  );

/** A field that is one number in the services: its name there, its schema, and its meaning for people. */
const plain = <const Name extends string, S extends z.ZodType>(as: Name, schema: S, meaning: string) => {
  return { as, schema, meaning };
};

/**
 * The plain fields. Parser, types, definition, reference and explain follow from this; null in the services where a
 * policy does not set the field.
 */
export const PLAIN_FIELDS = {
  nodeMonitorGracePeriod: plain(
    "nodeMonitorGraceMs",
    positive,
    "Silence that is tolerated of a node. If unset, --node-monitor-grace-period.",
  ),
  nodeStartupGracePeriod: plain(
    "nodeStartupGraceMs",
    positive,
    "The same of a node without a status yet. If unset, --node-startup-grace-period.",
  ),
  nodeEvictionRate: plain(
    "nodeEvictionsPerSecond",
    rate,
    "Nodes per second, zone and policy that are tainted NoExecute. If unset, --node-eviction-rate.",
  ),
  secondaryNodeEvictionRate: plain(
    "secondaryNodeEvictionsPerSecond",
    rate,
    "The rate of a large zone in partial disruption. If unset, the flag of that name.",
  ),
  fullDisruptionEvictionRate: plain(
    "fullDisruptionEvictionsPerSecond",
    rate,
    "The rate of a zone whose nodes of this policy are all down. If unset, nodeEvictionRate.",
  ),
  unhealthyZoneThreshold: plain(
    "unhealthyZoneThreshold",
    fraction,
    "Share of not ready nodes, at least 3, that disrupts a zone. If unset, --unhealthy-zone-threshold.",
  ),
  stormCooldownDuration: plain(
    "stormCooldownMs",
    duration,
    "After a breaker, a halt or maxUnhealthy: so long no evictions, so long again the secondary rate.",
  ),
  healthyDelay: plain(
    "healthyDelayMs",
    duration,
    "How long a node has to be Ready before its NoSchedule taint goes. If unset, 0.",
  ),
  unhealthyDelay: plain(
    "unhealthyDelayMs",
    duration,
    "How long its kubelet has to report Ready=False before a node waits for eviction. If unset, 0.",
  ),
};
type PlainDefinitions = typeof PLAIN_FIELDS;
/** The name of a plain field. */
export type PlainField = keyof PlainDefinitions;
/** The plain fields as services see them: whole milliseconds, or the number that is written. */
export type PlainValues = { readonly [F in PlainField as PlainDefinitions[F]["as"]]: number | null };

function plainSchemas(): { readonly [F in PlainField]: z.ZodOptional<PlainDefinitions[F]["schema"]> } {
  const schemas = Object.entries(PLAIN_FIELDS).map(([field, { schema }]) => [field, schema.optional()]);
  return Object.fromEntries(schemas);
}

/** The schema of each field of the spec. */
export const NODE_POLICY_FIELDS = {
  selector,
  /** The API server fills in the default, so that every object shows its mode. */
  mode: choice(["Enforce", "Freeze"]).meta({ default: "Enforce" }).optional(),
  pauseRequests: list(pauseRequestSchema, "a list of {name, reason}").optional(),
  ...plainSchemas(),
  maxUnhealthy: nodeCount.optional(),
  circuitBreaker: circuitBreaker.optional(),
  flapping: record(
    { transitions: countOf(2, "2 to 64").max(64, wrong("2 to 64")), window: positive, holdDown: positive },
    "{transitions: 4, window: 30m, holdDown: 1h}",
  ).optional(),
  unhealthyConditions: list(
    record(
      { type: unhealthyType, status: choice(["True", "False", "Unknown"]), duration, taint },
      "{type, status, duration, taint}",
    )
      .refine(isOfIllness, {
        path: ["status"],
        error: ({ input }) =>
          `"False": write True or Unknown; ${(input as { type: string }).type} is False on every healthy node`,
      })
      .meta(never({ properties: { type: { enum: FALSE_IF_HEALTHY }, status: { enum: ["False"] } } })),
    "a list of {type, status, duration, taint}",
  ).optional(),
  evictions: record(
    {
      method: choice(["Delete", "Evict", "EvictThenDelete"]).optional(),
      deleteAfter: duration.optional(),
      maxPerMinute: countOf(0, "a number of pods, such as 60").optional(),
      maxPerNamespacePerMinute: countOf(0, "a number of pods, such as 30").optional(),
    },
    "{method: EvictThenDelete, deleteAfter: 10m, maxPerMinute: 60}",
  )
    .refine(
      ({ method, deleteAfter }) => (method === "EvictThenDelete") === (deleteAfter !== undefined),
      "deleteAfter belongs to method EvictThenDelete",
    )
    .meta({
      anyOf: [
        { ...needs("method", "deleteAfter"), properties: { method: { enum: ["EvictThenDelete"] } } },
        { ...never(needs("deleteAfter")), properties: { method: { enum: ["Delete", "Evict"] } } },
      ],
    })
    .optional(),
  budgets: list(budget, "a list of {nodes, schedule, duration}").optional(),
  maintenance: record(
    { hold: list(holdType, "a list of condition types"), atMost: positive },
    "{hold: [MaintenanceInProgress], atMost: 4h}",
  ).optional(),
  remediations: remediations.optional(),
  outOfService: record(
    {
      after: duration,
      proof: list(choice(DOWN_PROOFS), "[RemediationSucceeded, Manual]").min(
        1,
        "write [Manual]: time alone is no proof",
      ),
      removeWhenReady: z.boolean(wrong("true or false")).optional(),
    },
    "{after: 3m, proof: [RemediationSucceeded, Manual]}",
  ).optional(),
} as const;

/** The spec of a NodePolicy as written. */
export const nodePolicySpecSchema = z.object(NODE_POLICY_FIELDS);
/** The spec of a NodePolicy as written. */
export type NodePolicySpec = z.infer<typeof nodePolicySpecSchema>;
/** A request to freeze nodes as written. */
export type PauseRequestSpec = z.infer<typeof pauseRequestSchema>;
/** The name of a field of the spec. */
export type NodePolicyField = keyof typeof NODE_POLICY_FIELDS;
