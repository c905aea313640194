/** How `vigil run` reads the flags of leader election, and when they apply. */
import { describe, expect, test } from "vitest";
import { electionCheck, standbyProblem } from "../../../services/cli/run/open-election.ts";
import { parseRun } from "../../../services/platform/config/config.ts";
import { isElected } from "../../../services/platform/config/election.ts";
import { ConfigProblem } from "../../../services/platform/config/value.ts";

const parse = (argv: readonly string[], file = "") => parseRun(argv, () => file);
const elected = (...argv: string[]): boolean => isElected(parse(argv).config.process);
const problemOf = (...argv: string[]): string => {
  try {
    parse(["--leader-elect", ...argv]);
  } catch (problem) {
    if (problem instanceof ConfigProblem) return problem.message;
    throw problem;
  }
  return "no problem";
};

test("the defaults are kube-controller-manager's, but nobody is elected unasked", () => {
  expect(parse([]).config.process).toMatchObject({
    leaderElect: false,
    leaderElectLeaseDurationMs: 15_000,
    leaderElectRenewDeadlineMs: 10_000,
    leaderElectRetryPeriodMs: 2_000,
    leaderElectResourceName: "vigil",
    leaderElectResourceNamespace: "kube-system",
  });
});

test("the file of --config has the same settings", () => {
  const file = "leaderElect: true\nleaderElectLeaseDuration: 30s\nleaderElectResourceName: other\n";
  const { process } = parse(["--config=vigil.yaml"], file).config;
  expect(process).toMatchObject({ leaderElect: true, leaderElectLeaseDurationMs: 30_000 });
  expect(process.leaderElectResourceName).toBe("other");
});

describe("a process", () => {
  test("takes part with the flag, without NATS, and not in shadow mode", () => {
    expect(elected()).toBe(false);
    expect(elected("--leader-elect")).toBe(true);
    expect(elected("--leader-elect", "--shadow")).toBe(false);
    expect(elected("--leader-elect", "--nats=nats://n:4222")).toBe(false);
  });

  test.each([
    [["--shadow"], ["--leader-elect has no effect with --shadow: nothing is written"]],
    [["--nats=nats://n:4222"], ["--leader-elect has no effect with --nats: the processes share the work"]],
    [[], []],
  ])("says with %j that the flag has no effect", (argv, remarks) => {
    expect(parse(["--leader-elect", ...argv]).remarks).toEqual(remarks);
  });
});

describe("flags that could make two leaders, or none, are refused", () => {
  test.each([
    [
      ["--leader-elect-lease-duration=10s"],
      "--leader-elect-lease-duration=10s: must be longer than --leader-elect-renew-deadline=10s",
    ],
    [
      ["--leader-elect-retry-period=9s"],
      "--leader-elect-renew-deadline=10s: must be longer than 1.2 times --leader-elect-retry-period=9s",
    ],
    [["--leader-elect-lease-duration=500ms"], "--leader-elect-lease-duration=500ms: must be at least 1s"],
    [
      ["--leader-elect-resource-lock=endpoints"],
      `--leader-elect-resource-lock=endpoints: "endpoints" is none of leases`,
    ],
    [["--leader-elect-resource-lock=leases"], "no problem"],
    [["--leader-elect-resource-name="], "--leader-elect-resource-name=: must not be empty"],
    [
      ["--leader-elect-resource-name=kube-controller-manager"],
      "--leader-elect-resource-name=kube-controller-manager: is the Lease of another component; leave the flag out",
    ],
    [["--leader-elect-lease-duration=16s"], "no problem"],
  ])("%j", (argv, message) => expect(problemOf(...argv)).toBe(message));
});

test.each([
  [{ leads: true, holder: "m-0_1a" }, null],
  [{ leads: false, holder: "m-1_2b" }, "this process stands by, and decides nothing: ask m-1, which leads"],
  [{ leads: false, holder: null }, "this process stands by, and decides nothing: no process leads yet"],
])("a standby does not speak for the cluster, and says who does: %j", (report, problem) => {
  expect(standbyProblem(report)).toBe(problem);
});

test.each([
  [{ leads: true, holder: "m-0_1a" }, "this process leads"],
  [{ leads: false, holder: "m-1_2b" }, "standby: m-1 leads"],
  [{ leads: false, holder: null }, "standby: no process leads yet"],
])("the probe passes, and says who leads: %j", (report, note) => {
  expect(electionCheck(report)).toEqual({ name: "leader-election", problem: null, note });
});
