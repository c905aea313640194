/** Judgements of nodes that are not observed. */
import { expect, test } from "vitest";
import { ZoneRoster } from "../../services/zone/zone.roster.ts";
import { judgedNode, observedNode } from "../support/observed-objects.ts";

test("a judgement without an observation is dropped once its shard is synced", () => {
  const roster = new ZoneRoster("taint");
  for (const node of ["known", "late", "gone", "foreign"]) roster.takeJudged(judgedNode(node), "cause");
  roster.takeObserved(observedNode("known"));
  roster.takeObserved(observedNode("late"));
  roster.takeObserved(observedNode("gone"));
  roster.takeGone("gone");
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
  roster.takeObserved(observedNode("foreign"));
  expect(roster.unjudged).toBe(1);
  expect([...(roster.zone("")?.members.keys() ?? [])]).toEqual(["known", "late"]);
});
