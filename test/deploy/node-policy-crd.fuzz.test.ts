/**
 * Whatever the API server accepts by the schema of the definition, Vigil can read. Specs are drawn field by field from
 * right and wrong values; the exceptions are what a structural schema has no word for.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { checkSpec } from "../../services/domain/node-policy.parse.ts";
import type { JsonObject } from "../../services/sandbox/apiserver/api-objects.ts";
import { pruned } from "../../services/sandbox/apiserver/custom/structural-schema.ts";

const CRD = parse(readFileSync(join(import.meta.dirname, "../../deploy/crd/nodepolicies.yaml"), "utf8"));
const SCHEMA = CRD.spec.versions[0].schema.openAPIV3Schema;
const RUNS = 20_000;

const ajv = new Ajv({ strict: false });
ajv.addFormat("date-time", (text) => !Number.isNaN(Date.parse(text)) && !text.includes("-02-30"));
const isAccepted = ajv.compile(SCHEMA);

/** What the status of a policy alone says, because a structural schema cannot: a part of each problem. */
const ONLY_PARSED = [
  /^spec\.selector\.matchLabels\./,
  /^spec\.budgets\[\d+\]\.(schedule|timeZone): /,
  /^spec\.remediations: two templates of one kind/,
];

const duration = fc.constantFrom("90s", "1m30s", "5m", "2h", "0s", "0.5h", "00ms", "1", "-5s", "", "10d");
const count = fc.constantFrom(1, 2, 3, 5, 9, 0, 64, 65, 1_000_000_001, -1, 1.5, "2", "20%", "100%", "101%", "x");
const type = fc.constantFrom("Ready", "MemoryPressure", "PIDPressure", "KernelDeadlock", "a/b", "-", "");
const key = fc.constantFrom(
  "pool",
  "example.com/pool",
  "node.kubernetes.io/x",
  "node.cloudprovider.kubernetes.io/y",
  "/",
);
const value = fc.constantFrom("gpu", "", "-x", "a b");
const text = fc.constantFrom("oncall", "", "x".repeat(1025));
const instant = fc.constantFrom(
  "2026-01-31T12:00:00Z",
  "2026-02-30T12:00:00Z",
  "2026-01-31T24:00:00Z",
  "2026-01-31T24:30:00Z",
  "2026-01-31T25:00:00Z",
  "2026-01-31T12:00:00.5+23:59",
  "2026-01-31T12:00:60Z",
  "2026-01-31",
);
const some = <V>(of: fc.Arbitrary<V>) => fc.array(of, { maxLength: 3 });

/** A record: few of its parts are missing, or of a wrong type. */
function parts(shape: Readonly<Record<string, fc.Arbitrary<unknown>>>, missing = 1): fc.Arbitrary<unknown> {
  const odd = fc.constantFrom<unknown>(1, "x", true, [], {});
  const entries = Object.entries(shape).map(([name, of]) => {
    const part = fc.oneof(
      { weight: 40, arbitrary: of },
      { weight: 1, arbitrary: odd },
      { weight: 4 * missing, arbitrary: fc.constant(undefined) },
    );
    return [name, part] as const;
  });
  return fc.record(Object.fromEntries(entries)).map((record) => JSON.parse(JSON.stringify(record)));
}

const expression = parts({
  key,
  operator: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist", "Gt"),
  values: some(value),
});
const taint = parts({ key, value, effect: fc.constantFrom("NoSchedule", "NoExecute", "Never") });
const template = parts({
  apiVersion: fc.constantFrom("self-node-remediation.medik8s.io/v1alpha1", "v1", "apps/v1"),
  kind: fc.constantFrom("SelfNodeRemediationTemplate", "FenceTemplate", "Pod"),
  namespace: fc.constantFrom("medik8s", "A"),
  name: fc.constantFrom("automatic", "-"),
});
const selector = parts(
  { matchLabels: fc.dictionary(key, value, { maxKeys: 2 }), matchExpressions: some(expression) },
  9,
);
const fields = parts(
  {
    mode: fc.constantFrom("Enforce", "Freeze", "Shadow"),
    pauseRequests: some(parts({ name: text, reason: text, since: instant, until: instant })),
    nodeMonitorGracePeriod: duration,
    nodeEvictionRate: fc.constantFrom(0.1, -1, 1e10),
    unhealthyZoneThreshold: fc.constantFrom(0, 0.5, 2),
    maxUnhealthy: count,
    circuitBreaker: parts({
      percentage: count,
      maxNodes: count,
      duration,
      resetAfter: duration,
      holds: some(fc.constantFrom("Evictions", "Readiness", "Pods")),
    }),
    healthyDelay: duration,
    flapping: parts({ transitions: count, window: duration, holdDown: duration }),
    unhealthyConditions: some(parts({ type, status: fc.constantFrom("True", "False", "Maybe"), duration, taint })),
    evictions: parts({
      method: fc.constantFrom("Delete", "Evict", "EvictThenDelete"),
      deleteAfter: duration,
      maxPerMinute: count,
    }),
    budgets: some(
      parts({
        nodes: count,
        schedule: fc.constantFrom("0 9 * * 1-5", "0 0 30 2 *", "x"),
        timeZone: fc.constantFrom("Europe/Berlin", "Mars"),
        duration,
      }),
    ),
    maintenance: parts({ hold: some(type), atMost: duration }),
    remediations: some(parts({ timeout: duration, template, dryRun: fc.boolean() })),
    outOfService: parts({
      after: duration,
      proof: some(fc.constantFrom("Manual", "RemediationSucceeded", "Time")),
      removeWhenReady: fc.boolean(),
    }),
    nodeGrace: duration,
  },
  400,
);
const spec = fc
  .record({ selector, fields })
  .map(({ selector: nodes, fields: others }) => ({ selector: nodes, ...(others as object) }));

/** What the parser says of a spec that an API server with the definition has accepted; null for a refused one. */
function problemsOfAccepted(written: unknown): readonly string[] | null {
  const object = structuredClone({
    apiVersion: "vigil.io/v1alpha1",
    kind: "NodePolicy",
    metadata: { name: "p" },
    spec: written,
  });
  pruned(object as JsonObject, SCHEMA);
  if (!isAccepted(object)) return null;
  return checkSpec(object.spec).problems;
}

test("what the schema of the definition accepts can be read", () => {
  let accepted = 0;
  const property = fc.property(spec, (written) => {
    const problems = problemsOfAccepted(written);
    if (problems === null) return;
    accepted += 1;
    expect(problems.filter((problem) => !ONLY_PARSED.some((pattern) => pattern.test(problem)))).toEqual([]);
  });
  fc.assert(property, { numRuns: RUNS, seed: 1 });
  expect(accepted).toBeGreaterThan(RUNS / 10);
});
