/** Every incident is complete: a misspelt group or a forgotten expectation would pass in silence. */
import { describe, expect, test } from "vitest";
import { INCIDENTS } from "./catalogue.ts";
import type { Incident } from "./incident.ts";

/** The groups that a step names: lists of names, or an object with such a list. */
function groupsIn(incident: Incident): string[] {
  const named = ["silence", "renew", "post", "recover", "registerAgain", "replaceMachines", "silenceReplacements"];
  const waited = ["untilTainted", "untilWell", "untilDeleted", "untaint", "writeOn"];
  return incident.timeline.flatMap((step) =>
    Object.entries(step).flatMap(([action, value]) => {
      if ([...named, ...waited].includes(action)) return value as string[];
      return typeof value === "object" && "of" in value ? (value.of as string[]) : [];
    }),
  );
}

test("incidents have names of their own", () => {
  const names = INCIDENTS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});

describe.each(INCIDENTS)("$name", (incident) => {
  const groups = Object.keys(incident.groups);

  test("names only its own groups", () => {
    expect(groupsIn(incident).filter((group) => !groups.includes(group))).toEqual([]);
  });

  test("says what is right for each group", () => {
    expect(Object.keys(incident.right).toSorted()).toEqual(groups.toSorted());
    const withPods = groups.filter((group) => incident.groups[group]?.pod !== undefined);
    expect(withPods.filter((group) => incident.right[group]?.pods === undefined)).toEqual([]);
  });

  test("names public reports", () => {
    expect(incident.reports.filter((report) => !/^[\w./-]+#\d+$/.test(report))).toEqual([]);
    expect(incident.reports).not.toEqual([]);
  });
});
