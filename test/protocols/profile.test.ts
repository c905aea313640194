/** Checks every tunable against kube-controller-manager's flag names and defaults, and against its own description. */
import { describe, expect, test } from "vitest";
import { STANDARD_PROFILE, TUNABLES } from "../../protocols/profile.ts";

const all = Object.entries(TUNABLES);

describe("the tunables", () => {
  test("keep the flags and the defaults of kube-controller-manager 1.36", () => {
    const upstream = all.filter(([, { upstream }]) => upstream).map(([, { flag, standard }]) => [flag, standard]);
    expect(Object.fromEntries(upstream)).toEqual({
      "node-monitor-period": 5000,
      "node-monitor-grace-period": 50_000,
      "node-startup-grace-period": 60_000,
      "pod-eviction-timeout": 300_000,
      "node-eviction-rate": 0.1,
      "secondary-node-eviction-rate": 0.01,
      "large-cluster-size-threshold": 50,
      "unhealthy-zone-threshold": 0.55,
      "kube-api-qps": 0,
      "kube-api-burst": 30,
    });
  });

  test("have no flag twice", () => {
    const flags = all.map(([, { flag }]) => flag);
    expect(new Set(flags).size).toBe(flags.length);
  });

  test.each(all)("%s has a meaning that is a sentence", (_name, { meaning }) =>
    expect(meaning).toMatch(/^.{20,}[.)]$/),
  );

  test.each(all)("%s ends with its unit", (name, { unit }) => {
    expect(name.endsWith("Ms")).toBe(unit === "duration");
  });

  test("make the standard profile", () => {
    expect(STANDARD_PROFILE.nodeMonitorGraceMs).toBe(50_000);
    expect(Object.keys(STANDARD_PROFILE)).toEqual([...Object.keys(TUNABLES), "bounds"]);
  });
});
