/** Feature gates of kube-controller-manager, for command lines that were written for it. */
import { ConfigProblem, type Setting, type SettingValue } from "./value.ts";

/** The setting of `--feature-gates`. */
export const FEATURE_GATES = {
  unit: "list",
  flag: "feature-gates",
  standard: [],
  meaning: "Feature gates of kube-controller-manager; those that do not concern Vigil are ignored with a remark.",
  example: "TaintTolerationComparisonOperators=true",
} as const satisfies Setting<readonly string[]>;

/** The effect of a list of feature gates. */
export interface FeatureGates {
  readonly set: ReadonlyMap<string, SettingValue>;
  readonly remarks: readonly string[];
}

/** Gates with a setting in Vigil. */
const SETTINGS: ReadonlyMap<string, string> = new Map([
  ["TaintTolerationComparisonOperators", "tolerationComparisonOperators"],
]);

/** Gates of the two controllers that are no choice in Vigil, and why. */
const SETTLED: ReadonlyMap<string, string> = new Map([
  ["SeparateTaintEvictionController", "taint eviction is always a service of its own"],
  ["NodeControllerLeaseCircuitBreaker", "every verdict is preceded by a live read of the lease"],
]);

/** Parses `Name=true` and `Name=false`. Throws a ConfigProblem for anything else. */
export function readFeatureGates(gates: readonly string[]): FeatureGates {
  const set = new Map<string, SettingValue>();
  const remarks: string[] = [];
  for (const gate of gates) {
    const [, name, value] = /^(\w+)=(true|false)$/.exec(gate) ?? [];
    if (name === undefined)
      throw new ConfigProblem(`--${FEATURE_GATES.flag}=${gate}: write it as Name=true or Name=false`);
    const setting = SETTINGS.get(name);
    const reason = SETTLED.get(name) ?? "it is no gate of Vigil's controllers";
    if (setting === undefined) remarks.push(`--${FEATURE_GATES.flag}: ${name} is ignored: ${reason}`);
    else set.set(setting, value === "true");
  }
  return { set, remarks };
}
