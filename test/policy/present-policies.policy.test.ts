/** The policies that a preview reads are those that the policy service would publish. */
import { expect, test } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { presentPolicies } from "../../services/policy/present-policies.policy.ts";

const AT = Date.UTC(2026, 0, 1, 12);
const SINCE = "2026-01-01T11:00:00Z";

const NOTHING = { configured: [], resources: [], freeze: null, profile: STANDARD_PROFILE };

function resource(name: string, spec: unknown) {
  return { name, uid: name, resourceVersion: "1", generation: 1, changedAt: AT - 60_000, spec, status: null };
}

function freezeOf(pauseRequests: unknown, frozen: unknown = null) {
  const texts = {
    pauseRequests: JSON.stringify(pauseRequests),
    frozen: frozen === null ? null : JSON.stringify(frozen),
    limits: null,
    outages: null,
  };
  return { name: "vigil-freeze", uid: "u", resourceVersion: "1", ...texts };
}

const GPU = { ...NOTHING, resources: [resource("gpu", { selector: {} })] };

test("a policy without a selector is not in force, and a wrong field counts as unset", () => {
  const resources = [resource("none", {}), resource("gpu", { selector: {}, healthyDelay: "soon" })];
  const set = presentPolicies({ ...NOTHING, resources }, AT);
  expect(set.policies.map(({ name, healthyDelayMs }) => [name, healthyDelayMs])).toEqual([["gpu", null]]);
});

test.each(["Freeze", "Shadow"])("the mode %s freezes since the policy was changed", (mode) => {
  const [gpu] = presentPolicies({ ...NOTHING, resources: [resource("gpu", { selector: {}, mode })] }, AT).policies;
  expect(gpu?.frozen).toEqual([{ fromAt: AT - 60_000, toAt: null }]);
});

test("requests of the ConfigMap freeze the nodes of a policy, or all", () => {
  const requests = [
    { name: "alice", since: SINCE },
    { name: "bob", since: SINCE, policy: "gpu" },
  ];
  const set = presentPolicies({ ...GPU, freeze: freezeOf(requests) }, AT);
  const interval = { fromAt: Date.parse(SINCE), toAt: null };
  expect(set.everywhere).toMatchObject({ pauseRequests: [{ name: "alice" }], frozen: [interval] });
  expect(set.policies).toMatchObject([{ pauseRequests: [{ name: "bob" }], frozen: [interval] }]);
});

test.each([
  ["spec.mode", { mode: "Freeze" }, "NodePolicy gpu: mode Freeze", AT],
  ["spec.pauseRequests", { pauseRequests: [{ name: "bob", since: SINCE }] }, "NodePolicy gpu: bob", Date.parse(SINCE)],
])("%s with a wrong selector freezes all nodes", (_field, fields, name, fromAt) => {
  const selector = { matchLabels: { "no key": "b" } };
  const set = presentPolicies({ ...NOTHING, resources: [resource("gpu", { selector, ...fields })] }, AT);
  expect(set.policies).toEqual([]);
  expect(set.everywhere).toMatchObject({ pauseRequests: [{ name }], frozen: [{ fromAt, toAt: null }] });
});

test("requests that cannot be read freeze all nodes", () => {
  const set = presentPolicies({ ...GPU, freeze: { ...freezeOf([]), pauseRequests: "[{" } }, AT);
  expect(set.everywhere).toMatchObject({ pauseRequests: [{ name: "unknown" }], frozen: [{ fromAt: AT, toAt: null }] });
});

test("what was frozen before is remembered", () => {
  const past = { from: SINCE, to: "2026-01-01T11:10:00Z" };
  const set = presentPolicies({ ...GPU, freeze: freezeOf([], { gpu: [past] }) }, AT);
  expect(set.policies[0]?.frozen).toEqual([{ fromAt: Date.parse(past.from), toAt: Date.parse(past.to) }]);
});

test("a request of the ConfigMap that is gone counts until now", () => {
  const by = [{ name: "bob", since: SINCE, until: null, recorded: true }];
  const set = presentPolicies({ ...GPU, freeze: freezeOf([], { gpu: [{ from: SINCE, to: null, by }] }) }, AT);
  expect(set.policies[0]?.frozen).toEqual([{ fromAt: Date.parse(SINCE), toAt: AT }]);
});

test("a policy of --config is in force, also in place of one of the same name", () => {
  const configured = [
    { name: "gpu", spec: { selector: {}, nodeMonitorGracePeriod: "20s" } },
    { name: "spot", spec: { selector: {} } },
  ];
  const { policies } = presentPolicies({ ...GPU, configured }, AT);
  expect(policies).toMatchObject([{ name: "gpu", nodeMonitorGraceMs: 20_000 }, { name: "spot" }]);
});
