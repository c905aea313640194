/** Feature gates of kube-controller-manager, for a command line that was written for it. Pure: it turns nothing on. */
import { ConfigProblem, type Setting, type SettingValue } from "./value.ts";

/** The flag that takes them. */
export const FEATURE_GATES = {
  unit: "list",
  flag: "feature-gates",
  standard: [],
  meaning: "Feature gates of kube-controller-manager; those that Vigil has no use for are passed over with a line.",
  example: "TaintTolerationComparisonOperators=true",
} as const satisfies Setting<readonly string[]>;

/** What a list of feature gates comes to. */
export interface FeatureGates {
  /** Settings by name that a gate sets. */
  readonly set: ReadonlyMap<string, SettingValue>;
  /** A line for each gate that is passed over. */
  readonly remarks: readonly string[];
}

/** Settings that are upstream's gates under another name. */
const SETTINGS: ReadonlyMap<string, string> = new Map([
  ["TaintTolerationComparisonOperators", "tolerationComparisonOperators"],
]);

/** Gates of the two controllers that Vigil has no choice for, and why. */
const SETTLED: ReadonlyMap<string, string> = new Map([
  ["SeparateTaintEvictionController", "taint eviction is always a service of its own"],
  ["NodeControllerLeaseCircuitBreaker", "every verdict is preceded by a live read of the lease"],
]);

/** Reads `Name=true` and `Name=false`. Throws a ConfigProblem at anything else. */
export function readFeatureGates(gates: readonly string[]): FeatureGates {
  const set = new Map<string, SettingValue>();
  const remarks: string[] = [];
  for (const gate of gates) {
    const [, name = "", value] = /^(\w+)=(true|false)$/.exec(gate) ?? refuse(gate);
    const setting = SETTINGS.get(name);
    const reason = SETTLED.get(name) ?? "it is no gate of Vigil's controllers";
    if (setting === undefined) remarks.push(`--${FEATURE_GATES.flag}: ${name} is ignored: ${reason}`);
    else set.set(setting, value === "true");
  }
  return { set, remarks };
}

function refuse(gate: string): never {
  throw new ConfigProblem(`--${FEATURE_GATES.flag}=${gate}: write it as Name=true or Name=false`);
}
