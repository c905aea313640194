/** `vigil explain`: explains the state of a node, a pod, a zone or a node policy, with the decisions that led to it. */
import type { Explanation } from "../../../protocols/ledger-reader.ts";
import { explanationDocument } from "../../console/documents.ts";
import { apiTime } from "../../domain/api-time.ts";
import { objectText } from "../../domain/format.ts";
import { choiceSetting, durationSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { KUBE_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import { KubeConfigProblem, namespaceOfContext } from "../../platform/kube/auth/kubeconfig.ts";
import { printable } from "../../platform/process/printable.ts";
import { CONSOLE_SETTINGS, getFromConsole } from "../connect/console-client.ts";
import { jsonText } from "../get/get-printer.ts";
import { yamlText } from "../output/yaml.ts";
import { defineVerb, Failure, type Host, type Verb } from "../verb.ts";

const OUTPUTS = ["text", "json", "yaml"] as const;

const { kubeconfig, context } = KUBE_SETTINGS;
const SETTINGS = {
  namespace: textSetting(
    "namespace",
    "shop",
    "Namespace of a pod whose name does not begin with it; without it that of the kubeconfig's context, or default.",
  ),
  output: choiceSetting<(typeof OUTPUTS)[number]>("output", OUTPUTS, "text", "Output format."),
  since: durationSetting("since", 0, "Only the history of this long; 0: all of it."),
  ...CONSOLE_SETTINGS,
  kubeconfig: { ...kubeconfig, meaning: `For the namespace of a pod: ${kubeconfig.meaning}` },
  context: { ...context, meaning: `For the namespace of a pod: ${context.meaning}` },
} as const;
type Values = Readonly<ValuesOf<typeof SETTINGS>>;

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
    { command: "vigil explain pod cart-0", does: "a pod of the namespace of your context, as with kubectl" },
    { command: "vigil explain -n shop pod cart-0", does: "a pod of another namespace" },
    { command: "vigil explain pod shop/cart-0", does: "whether it will be evicted, when, and which taint decides" },
    { command: "vigil explain node worker-7 --since=1h -o json", does: "the same for programs, with the last hour" },
  ],
  run: async (values, words, host) => {
    const path = pathOf(words, () => namespaceFrom(values, host));
    const explanation = await getFromConsole<Explanation>(values, path, host);
    const fromAt = values.since === 0 ? Number.NEGATIVE_INFINITY : host.wallMs() - values.since;
    const shown = { ...explanation, timeline: explanation.timeline.filter(({ at }) => at >= fromAt) };
    host.print(TEXTS[values.output](shown));
    return 0;
  },
});

const TEXTS: Readonly<Record<Values["output"], (explanation: Explanation) => string>> = {
  text: explanationText,
  json: (explanation) => jsonText(explanationDocument(explanation)),
  yaml: (explanation) => yamlText(explanationDocument(explanation)),
};

/** The namespace of a pod that is named without one, as kubectl has it. Throws a Failure. */
function namespaceFrom({ namespace, ...kube }: Values, { environment }: Host): string {
  if (namespace !== "") return namespace;
  try {
    const [file, name] = [kube.kubeconfig || undefined, kube.context || undefined];
    return namespaceOfContext({ kubeconfig: file, context: name }, environment);
  } catch (problem) {
    throw problem instanceof KubeConfigProblem ? new Failure(problem.message) : problem;
  }
}

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

/** Accepts `pod/cart-0` and plurals too, as kubectl does. */
function pathOf(words: readonly string[], namespace: () => string): string {
  const [first = "", ...rest] = words.length === 1 ? (words[0] ?? "").split(/\/(.*)/, 2) : words;
  const [kind, [name = "", ...more]] = [KINDS.get(first) ?? first, rest];
  const isBare = kind === "pod" && name !== "" && !name.includes("/");
  const parts = (isBare ? [namespace(), name] : name.split("/")).map(encodeURIComponent);
  const partsOf: Readonly<Record<string, number>> = { node: 1, pod: 2, zone: parts.length, policy: 1 };
  if (partsOf[kind] !== parts.length || parts.includes("") || more.length > 0) {
    const command = ["explain", ...words].filter((word) => word !== "").join(" ");
    throw new ConfigProblem(
      `${command}: name one node, pod, zone or policy, as in explain node worker-7, explain pod shop/cart-0, ` +
        "explain zone eu-west-1b or explain policy gpu",
    );
  }
  // The title of a zone is one part, although it may contain a slash.
  return `/api/explain/${kind}/${parts.join(kind === "zone" ? "%2F" : "/")}`;
}
