/** `vigil explain`: explains the state of a node, a pod, a zone or a node policy, with the decisions that led to it. */
import type { Explanation } from "../../../protocols/ledger-reader.ts";
import { apiTime } from "../../domain/api-time.ts";
import { objectText } from "../../domain/format.ts";
import { textSetting } from "../../platform/config/setting-builders.ts";
import { ConfigProblem } from "../../platform/config/value.ts";
import { printable } from "../../platform/process/printable.ts";
import { CONSOLE_SETTINGS, getFromConsole } from "../connect/console-client.ts";
import { defineVerb, type Verb } from "../verb.ts";

const SETTINGS = {
  namespace: textSetting("namespace", "shop", "Namespace of the pod, where its name does not begin with it."),
  ...CONSOLE_SETTINGS,
} as const;

/** The verb that explains a node, a pod, a zone or a node policy. */
export const explainVerb: Verb = defineVerb({
  name: "explain",
  summary: "explain the state of a node, a pod, a zone or a policy and the decisions that led to it",
  words: "<node NAME|pod NAMESPACE/NAME|zone NAME|policy NAME>",
  firstWords: ["node", "pod", "zone", "policy"],
  liveNames: new Map([
    ["node", "nodes"],
    ["pod", "pods"],
    ["zone", "zones"],
    ["policy", "policies"],
  ]),
  settings: SETTINGS,
  examples: [
    { command: "vigil explain node worker-7", does: "its readiness, its taints, and the decisions behind them" },
    { command: "vigil explain zone eu-west-1b", does: "its state, its eviction rate, and which nodes are next" },
    { command: "vigil explain policy gpu", does: "its nodes, what it sets, and what holds them back" },
    { command: "vigil explain -n shop pod cart-0", does: "a pod, as kubectl names it" },
    { command: "vigil explain pod shop/cart-0", does: "whether it will be evicted, when, and which taint decides" },
  ],
  run: async (values, words, host) => {
    host.print(explanationText(await getFromConsole<Explanation>(values, pathOf(words, values.namespace), host)));
    return 0;
  },
});

const KINDS: ReadonlyMap<string, string> = new Map([
  ["nodes", "node"],
  ["no", "node"],
  ["pods", "pod"],
  ["po", "pod"],
  ["zones", "zone"],
  ["policies", "policy"],
  ["nodepolicy", "policy"],
  ["nodepolicies", "policy"],
  ["npol", "policy"],
  ["np", "policy"],
]);

/** An explanation as text: the sentences, then the timeline with the object of each line. */
export function explanationText({ sentences, timeline }: Omit<Explanation, "names">): string {
  const lines = timeline.map(
    ({ at, object, text, times }) =>
      `  ${apiTime(at)}  ${objectText(object)} ${text}${times > 1 ? ` (${times} times)` : ""}`,
  );
  return [...sentences, ...(lines.length === 0 ? [] : ["", "What led there:", ...lines]), ""].map(printable).join("\n");
}

/** As kubectl, takes `pod/cart-0` too, and plurals. */
function pathOf(words: readonly string[], namespace: string): string {
  const [first = "", ...rest] = words.length === 1 ? (words[0] ?? "").split(/\/(.*)/, 2) : words;
  const [kind, [name = "", ...more]] = [KINDS.get(first) ?? first, rest];
  const isIn = kind === "pod" && namespace !== "" && !name.includes("/");
  const parts = (isIn ? [namespace, name] : name.split("/")).map(encodeURIComponent);
  const partsOf: Readonly<Record<string, number>> = { node: 1, pod: 2, zone: parts.length, policy: 1 };
  if (partsOf[kind] !== parts.length || parts.includes("") || more.length > 0) {
    const command = ["explain", ...words].filter((word) => word !== "").join(" ");
    throw new ConfigProblem(`${command}: write it as explain node worker-7 or explain pod shop/cart-0`);
  }
  // The title of a zone is one part, although it may contain a slash.
  return `/api/explain/${kind}/${parts.join(kind === "zone" ? "%2F" : "/")}`;
}
