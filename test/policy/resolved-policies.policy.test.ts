/** Which policies are in force, out of the API and of --config. */
import { describe, expect, test } from "vitest";
import { MESSAGES } from "../../protocols/messages.ts";
import type { PolicyResource } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { refusedFields, resolvedPolicies } from "../../services/policy/resolved-policies.policy.ts";

const spec = (pool: string) => ({ selector: { matchLabels: { pool } } });
const resource = (name: string, of: unknown = spec(name)): PolicyResource => {
  return {
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    generation: 1,
    changedAt: null,
    spec: of,
    status: undefined,
  };
};
const inForce = (policies: ReturnType<typeof resolvedPolicies>) =>
  policies.filter((policy) => policy.spec !== null).map(({ name, source }) => `${name} of ${source}`);

describe("the policies in force", () => {
  test("are those of the API and of --config, by name", () => {
    const policies = resolvedPolicies([{ name: "spot", spec: spec("spot") }], [resource("gpu")]);
    expect(inForce(policies)).toEqual(["gpu of resource", "spot of config"]);
  });

  test("have that of --config of two with one name, and say so", () => {
    const policies = resolvedPolicies([{ name: "gpu", spec: spec("a") }], [resource("gpu", spec("b"))]);
    expect(inForce(policies)).toEqual(["gpu of config"]);
    expect(policies.flatMap(({ problems }) => problems)).toEqual([
      "--config has a policy of this name, which is in force with the pauseRequests of both",
    ]);
  });

  test("have the pause requests of both of two with one name", () => {
    const own = { ...spec("a"), pauseRequests: [{ name: "own" }] };
    const requests = Array.from({ length: 64 }, (_, index) => ({ name: `r${index}` }));
    const object = resource("gpu", { ...spec("b"), pauseRequests: requests });
    const [policy] = resolvedPolicies([{ name: "gpu", spec: own }], [object]);
    expect(policy).toMatchObject({ source: "config", problems: [], spec: spec("a") });
    expect(policy?.spec?.pauseRequests?.map(({ name }) => name)).toEqual([...requests.map(({ name }) => name), "own"]);
  });

  test("have the requests of a namesake with a wrong selector", () => {
    const object = resource("gpu", {
      selector: { matchLabels: { "no key": "b" } },
      pauseRequests: [{ name: "oncall" }],
    });
    const [policy] = resolvedPolicies([{ name: "gpu", spec: spec("a") }], [object]);
    expect(policy?.spec?.pauseRequests).toEqual([{ name: "oncall" }]);
  });

  test("have the right fields of an object with wrong ones", () => {
    const [policy] = resolvedPolicies([], [resource("gpu", { ...spec("gpu"), nodeGrace: "1s" })]);
    expect(policy).toMatchObject({ spec: spec("gpu"), problems: [expect.any(String)] });
  });

  test("name their first refused fields", () => {
    const wrong = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`no${"p".repeat(300)}${index}`, 1]));
    const [policy] = resolvedPolicies([], [resource("gpu", { ...spec("gpu"), ...wrong })]);
    const { refused = [] } = refusedFields(policy ?? { problems: [] });
    expect(refused).toHaveLength(8);
    const version = policy?.version ?? "";
    const body = { policy: "gpu", version, spec: spec("gpu"), refused };
    expect(MESSAGES["judged.policy"].schema.safeParse(body).success).toBe(true);
    expect(refusedFields({ problems: [] })).toEqual({});
  });

  test("have one with long pause requests, but no other long one", () => {
    const pauseRequests = Array.from({ length: 64 }, () => ({ name: "oncall", reason: "x".repeat(1024) }));
    const matchExpressions = Array.from({ length: 64 }, () => {
      return { key: "k".repeat(63), operator: "In", values: Array.from({ length: 4 }, () => "v".repeat(63)) };
    });
    const policies = [
      resource("gpu", { ...spec("gpu"), pauseRequests }),
      resource("long", { selector: { matchExpressions } }),
    ];
    expect(inForce(resolvedPolicies([], policies))).toEqual(["gpu of resource"]);
  });

  test("do not have an object without a selector", () => {
    expect(inForce(resolvedPolicies([], [resource("gpu", {}), resource("spot")]))).toEqual(["spot of resource"]);
  });

  test.each([
    ["mode Freeze", { mode: "Freeze" }, "NodePolicy gpu: mode Freeze"],
    ["a pause request", { pauseRequests: [{ name: "bob" }] }, "NodePolicy gpu: bob"],
  ])("freeze all nodes by %s with a wrong selector", (_what, fields, name) => {
    const selector = { matchLabels: { "no key": "b" } };
    const [policy] = resolvedPolicies([], [resource("gpu", { selector, ...fields })]);
    expect(policy).toMatchObject({ spec: null, unplaced: [{ name }] });
    expect(policy?.problems.at(-1)).toContain("until it is, all nodes are frozen");
  });

  test("get another version with another spec only", () => {
    const version = (of: object) => resolvedPolicies([], [resource("gpu", of)])[0]?.version;
    expect(version(spec("a"))).toBe(version(spec("a")));
    expect(version(spec("a"))).not.toBe(version(spec("b")));
  });

  test("are at most 200", () => {
    const resources = Array.from({ length: 201 }, (_, index) => resource(`p-${1000 + index}`, spec(`p${index}`)));
    const policies = resolvedPolicies([], resources);
    expect(inForce(policies)).toHaveLength(200);
    expect(policies.at(-1)?.problems[0]).toBe("there are already 200 other policies");
  });

  test("select by at most 64 label keys together", () => {
    const byKey = (key: string) => ({ selector: { matchExpressions: [{ key, operator: "Exists" }] } });
    const resources = Array.from({ length: 65 }, (_, index) => resource(`p-${100 + index}`, byKey(`key-${index}`)));
    const policies = resolvedPolicies([], [...resources, resource("q", byKey("key-0"))]);
    expect(inForce(policies)).toHaveLength(65);
    expect(policies[64]?.problems[0]).toContain("select by 64 label keys");
  });

  test("name at most 16 condition types, and keep other fields", () => {
    const hold = (from: number, count: number) => {
      const types = Array.from({ length: count }, (_, index) => `Type${from + index}`);
      return { maintenance: { hold: types, atMost: "1h" } };
    };
    const freeze = { ...spec("gpu"), mode: "Freeze", budgets: [{ nodes: 1 }] };
    const taint = { key: "vigil.io/bad", effect: "NoSchedule" };
    const condition = { type: "Bad", status: "True", duration: "1m", taint };
    const policies = resolvedPolicies(
      [],
      [
        resource("batch", { ...spec("batch"), ...hold(0, 10), unhealthyConditions: [condition] }),
        resource("gpu", { ...freeze, ...hold(10, 6), unhealthyConditions: [condition] }),
        resource("spot", { ...spec("spot"), ...hold(0, 5), unhealthyConditions: [{ ...condition, type: "Worse" }] }),
        resource("web", { ...spec("web"), ...hold(5, 5), unhealthyConditions: [condition] }),
      ],
    );
    expect(policies.map(({ spec: of }) => Object.keys(of ?? {}))).toEqual([
      ["selector", "maintenance", "unhealthyConditions"],
      ["selector", "mode", "budgets", "unhealthyConditions"],
      ["selector", "maintenance", "unhealthyConditions"],
      ["selector", "maintenance", "unhealthyConditions"],
    ]);
    const limit = "all policies together may name 16 types of conditions; it has more";
    expect(policies[1]?.problems).toEqual([`spec.maintenance: ${limit}`]);
    expect(policies[1]?.version).not.toBe(policies[0]?.version);
  });
});

describe("beyond what the process allows", () => {
  const problemsOf = (fields: object, profile = STANDARD_PROFILE) =>
    resolvedPolicies([], [resource("gpu", { ...spec("gpu"), ...fields })], profile).flatMap(({ problems }) => problems);

  test.each([
    [
      "a grace",
      { nodeMonitorGracePeriod: "1ms" },
      'spec.nodeMonitorGracePeriod: "1ms": write 20s or longer; --policy-min-grace-period allows no shorter one',
    ],
    [
      "a grace of new nodes",
      { nodeStartupGracePeriod: "19s" },
      'spec.nodeStartupGracePeriod: "19s": write 20s or longer; --policy-min-grace-period allows no shorter one',
    ],
    [
      "a rate",
      { nodeEvictionRate: 1e9 },
      "spec.nodeEvictionRate: 1000000000: write 1 or less; --policy-max-eviction-rate allows no more",
    ],
    [
      "a rate in disruption",
      { fullDisruptionEvictionRate: 1.5 },
      "spec.fullDisruptionEvictionRate: 1.5: write 1 or less; --policy-max-eviction-rate allows no more",
    ],
  ])("%s counts as unset, and says so", (_what, fields, problem) => {
    expect(problemsOf(fields)).toEqual([problem]);
    const [policy] = resolvedPolicies([], [resource("gpu", { ...spec("gpu"), ...fields, healthyDelay: "1m" })]);
    expect(policy?.spec).toEqual({ ...spec("gpu"), healthyDelay: "1m" });
  });

  test("is nothing of the process itself or of --config", () => {
    const profile = { ...STANDARD_PROFILE, nodeMonitorGraceMs: 5_000, nodeEvictionsPerSecond: 4 };
    expect(problemsOf({ nodeMonitorGracePeriod: "5s", nodeEvictionRate: 4 }, profile)).toEqual([]);
    const own = { ...spec("gpu"), nodeMonitorGracePeriod: "1s", nodeEvictionRate: 9 };
    expect(resolvedPolicies([{ name: "gpu", spec: own }], [])).toMatchObject([{ spec: own, problems: [] }]);
  });
});
