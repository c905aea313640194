/** Which side a step belongs to, and why only one side took it. */
import { describe, expect, test } from "vitest";
import { Incident } from "../../../services/ledger/compare/incident.ts";
import { Step } from "../../../services/ledger/compare/step.ts";
import { observedPod } from "../../support/observed-objects.ts";

const own = (at: number, id: string, isWritten: boolean, version: string | null = null) => ({
  at,
  id,
  isWritten,
  version,
});
const why = (missing: string) => `missing: ${missing}`;

describe("a step", () => {
  test.each<[string, (step: Step) => void, ReturnType<Step["report"]>]>([
    ["of neither side", () => {}, { vigil: null, others: null, leadMs: null, why: null }],
    [
      "of both sides has a lead",
      (step) => {
        step.byVigil(own(1_000, "v", false));
        step.shown({ at: 5_000, id: "o" });
      },
      { vigil: { at: 1_000, id: "v" }, others: { at: 5_000, id: "o" }, leadMs: 4_000, why: null },
    ],
    [
      "that the others took first has a negative lead",
      (step) => {
        step.shown({ at: 1_000, id: "o" });
        step.byVigil(own(3_000, "v", false));
      },
      { vigil: { at: 3_000, id: "v" }, others: { at: 1_000, id: "o" }, leadMs: -2_000, why: null },
    ],
    [
      "that Vigil wrote is shown by the API as Vigil's",
      (step) => {
        step.byVigil(own(1_000, "v", true));
        step.shown({ at: 1_010, id: "o" });
      },
      { vigil: { at: 1_000, id: "v" }, others: null, leadMs: null, why: "missing: others" },
    ],
    [
      "counts the first time only",
      (step) => {
        step.byVigil(own(1_000, "v", false));
        step.byVigil(own(2_000, "later", false));
        step.shown({ at: 5_000, id: "o" });
        step.shown({ at: 6_000, id: "later" });
      },
      { vigil: { at: 1_000, id: "v" }, others: { at: 5_000, id: "o" }, leadMs: 4_000, why: null },
    ],
    [
      "that Vigil had planned is compared with its plan",
      (step) => {
        step.planned(8_000, "p");
        step.planned(9_000, "p2");
        step.shown({ at: 5_000, id: "o" });
      },
      { vigil: { at: 9_000, id: "p2", isPlanned: true }, others: { at: 5_000, id: "o" }, leadMs: -4_000, why: null },
    ],
    [
      "that was planned and then taken was taken",
      (step) => {
        step.planned(8_000, "p");
        step.byVigil(own(8_001, "v", false));
      },
      { vigil: { at: 8_001, id: "v" }, others: null, leadMs: null, why: "missing: others" },
    ],
    [
      "of the others alone",
      (step) => step.shown({ at: 5_000, id: "o" }),
      { vigil: null, others: { at: 5_000, id: "o" }, leadMs: null, why: "missing: vigil" },
    ],
  ])("%s", (_name, act, report) => {
    const step = new Step();
    act(step);
    expect(step.report(why)).toEqual(report);
  });
});

describe("a step that the API shows", () => {
  test.each<[string, (step: Step) => void, ReturnType<Step["report"]>]>([
    [
      "before the reply is Vigil's",
      (step) => {
        step.shown({ at: 990, id: "o" }, "7", "unknown");
        step.byVigil(own(1_000, "v", true, "7"));
      },
      { vigil: { at: 1_000, id: "v" }, others: null, leadMs: null, why: "missing: others" },
    ],
    [
      "before the request is Vigil's",
      (step) => {
        step.shown({ at: 990, id: "o" }, "7");
        step.byVigil(own(1_000, "v", true, "7"));
      },
      { vigil: { at: 1_000, id: "v" }, others: null, leadMs: null, why: "missing: others" },
    ],
    [
      "in an older version is the others'",
      (step) => {
        step.shown({ at: 990, id: "o" }, "6");
        step.byVigil(own(1_000, "v", true, "7"));
      },
      { vigil: { at: 1_000, id: "v" }, others: { at: 990, id: "o" }, leadMs: -10, why: null },
    ],
    [
      "while Vigil's request ends without a write is the others'",
      (step) => {
        step.shown({ at: 990, id: "o" }, "7", "unknown");
        step.settled();
      },
      { vigil: null, others: { at: 990, id: "o" }, leadMs: null, why: "missing: vigil" },
    ],
    [
      "while the request has no outcome is of no known author",
      (step) => step.shown({ at: 990, id: "o" }, "7", "unknown"),
      { vigil: null, others: null, leadMs: null, why: "not known: nothing shows who wrote it" },
    ],
  ])("%s", (_name, act, report) => {
    const step = new Step();
    act(step);
    expect(step.report(why)).toEqual(report);
  });
});

describe("an incident", () => {
  test("in which nobody did anything is not reported", () => {
    const incident = new Incident("n-1", "uid", 0);
    incident.podOf(observedPod("web"));
    expect([incident.report(), [...incident.podReports()]]).toEqual([null, []]);
  });

  test.each<[string, (incident: Incident) => void, string]>([
    ["lasts", ({ unknown }) => unknown.byVigil(own(1, "v", false)), "the others have not done it yet"],
    [
      "is over",
      (incident) => {
        incident.unknown.byVigil(own(1, "v", false));
        incident.to = 2;
      },
      "the failure ended before the others did it",
    ],
    [
      "the others saw first",
      ({ unknown }) => unknown.shown({ at: 1, id: "o" }),
      "not known: this ledger has received no verdict about the node",
    ],
    [
      "a live read refuted",
      (incident) => {
        incident.refusal = "the lease was renewed after the verdict";
        incident.unknown.shown({ at: 1, id: "o" });
      },
      "a live read ruled it out: the lease was renewed after the verdict",
    ],
  ])("that %s has its reason", (_name, act, reason) => {
    const incident = new Incident("n-1", "uid", 0);
    act(incident);
    expect(incident.report()?.unknown.why).toBe(reason);
  });
});

test("a step as old as the record is not another's because Vigil writes it again", () => {
  const step = new Step();
  step.shownBefore({ at: 500, id: "o" }, "6", "unknown");
  step.byVigil(own(1_000, "v", true, "7"));
  expect(step.report(why)).toMatchObject({ vigil: { at: 1_000 }, others: null });
});
