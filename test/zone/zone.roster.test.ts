/** Judgements of nodes that are not observed. */
import { expect, test } from "vitest";
import { nodePolicyOf } from "../../services/domain/node-policy.parse.ts";
import { domainKeyOf, zoneKeyOf } from "../../services/domain/zone-key.ts";
import { ZoneRoster } from "../../services/zone/zone.roster.ts";
import { HandPolicies } from "../support/hand-policies.ts";
import { judgedNode, observedNode } from "../support/observed-objects.ts";

test("a judgement without an observation is dropped once its shard is synced", () => {
  const roster = new ZoneRoster({ profile: { evictionMode: "taint" }, policies: new HandPolicies() });
  for (const node of ["known", "late", "gone", "foreign"]) roster.onJudged(judgedNode(node), "cause");
  roster.onObserved(observedNode("known"));
  roster.onObserved(observedNode("late"));
  roster.onObserved(observedNode("gone"));
  roster.onGone("gone");
  const checked: string[] = [];
  const isSynced = (answer: boolean) => (node: string) => {
    checked.push(node);
    return answer;
  };
  roster.dropUnobserved(isSynced(false));
  roster.dropUnobserved(isSynced(true));
  roster.dropUnobserved(isSynced(true));
  expect(checked).toEqual(["foreign", "foreign"]);
  // Its judgement is gone, so it must be judged again.
  roster.onObserved(observedNode("foreign"));
  expect(roster.unjudged).toBe(1);
  expect([...(roster.zone("")?.members.keys() ?? [])]).toEqual(["known", "late"]);
});

test("judgements are compared again when the policies change", () => {
  const policies = new HandPolicies();
  const roster = new ZoneRoster({ profile: { evictionMode: "taint" }, policies });
  const observed = observedNode("a", { labels: { "topology.kubernetes.io/zone": "a" } });
  const zone = zoneKeyOf(observed.labels);
  const domain = domainKeyOf(observed.labels, nodePolicyOf("pool", { selector: {}, nodeEvictionRate: 1 }));
  roster.onObserved(observed);
  roster.onJudged(judgedNode("a", { zone }), "cause");
  expect([...roster.contradicting]).toEqual([]);
  policies.put({ nodeEvictionRate: 1 });
  roster.policiesChanged();
  expect([...roster.contradicting]).toEqual(["a"]);
  roster.onJudged(judgedNode("a", { zone: domain, policy: "pool" }), "cause");
  expect([...roster.contradicting]).toEqual([]);
});

test("a node that is not judged yet is in the domain of its policy", () => {
  const policies = new HandPolicies({ nodeEvictionRate: 1 });
  const roster = new ZoneRoster({ profile: { evictionMode: "taint" }, policies });
  const observed = observedNode("a", { labels: { "topology.kubernetes.io/zone": "a" } });
  roster.onObserved(observed);
  const domain = domainKeyOf(observed.labels, nodePolicyOf("pool", { selector: {}, nodeEvictionRate: 1 }));
  expect(roster.domainOf(observed)).toBe(domain);
});
