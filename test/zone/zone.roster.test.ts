/** The roster's care for nodes that were judged and that nobody observes. */
import { expect, test } from "vitest";
import { ZoneRoster } from "../../services/zone/zone.roster.ts";
import { judgedNode, observedNode } from "../support/observed-objects.ts";

test("of all nodes only strangers are looked at, and forgotten once everything observed of their shard is told", () => {
  const roster = new ZoneRoster("taint");
  for (const node of ["known", "late", "gone", "stranger"]) roster.takeJudged(judgedNode(node), "cause");
  roster.takeObserved(observedNode("known"));
  roster.takeObserved(observedNode("late"));
  roster.takeObserved(observedNode("gone"));
  roster.takeGone("gone");
  const asked: string[] = [];
  const isTold = (answer: boolean) => (node: string) => {
    asked.push(node);
    return answer;
  };
  roster.dropUnobserved(isTold(false));
  roster.dropUnobserved(isTold(true));
  roster.dropUnobserved(isTold(true));
  expect(asked).toEqual(["stranger", "stranger"]);
  // Observed only now, it has to be judged anew.
  roster.takeObserved(observedNode("stranger"));
  expect(roster.unjudged).toBe(1);
  expect([...(roster.zone("")?.members.keys() ?? [])]).toEqual(["known", "late"]);
});
