/** `vigil explain`: why a node or a pod is as it is, and what led there. */
import type { Explanation, Subject } from "../../../protocols/ledger-reader.ts";
import { apiTime } from "../../domain/api-time.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import { ConfigProblem } from "../../platform/config/value.ts";
import { printable } from "../../platform/process/printable.ts";
import { CONSOLE_SETTINGS, getFromConsole } from "../console-client.ts";
import { defineVerb, type Verb } from "../verb.ts";

/** The verb that explains. */
export const explainVerb: Verb = defineVerb({
  name: "explain",
  summary: "say why a node or a pod is as it is, and what led there",
  words: "<node NAME|pod NAMESPACE/NAME>",
  firstWords: ["node", "pod"],
  settings: CONSOLE_SETTINGS,
  examples: [
    { command: "vigil explain node worker-7", does: "its readiness, its taints, and the decisions behind them" },
    { command: "vigil explain pod shop/cart-0", does: "whether it will be evicted, when, and which taint decides" },
  ],
  run: async (values, words, host) => {
    host.print(explanationText(await getFromConsole<Explanation>(values, pathOf(words), host)));
    return 0;
  },
});

/** An explanation as text: the sentences, then the story with its instants and whom each concerns. */
export function explanationText({ sentences, timeline }: Explanation): string {
  const story = timeline.map(
    ({ at, object, text, times }) =>
      `  ${apiTime(at)}  ${nameOf(object)} ${text}${times > 1 ? ` (${times} times)` : ""}`,
  );
  return [...sentences, ...(story.length === 0 ? [] : ["", "What led there:", ...story]), ""].map(printable).join("\n");
}

function nameOf({ kind, namespace, name }: Subject): string {
  const title = kind === "Zone" ? zoneTitleOf(name) : name;
  return `${kind.toLowerCase()} ${namespace === "" ? title : `${namespace}/${title}`}`;
}

function pathOf([kind = "", name = "", ...more]: readonly string[]): string {
  const parts = name.split("/").map(encodeURIComponent);
  const wanted = kind === "node" ? 1 : 2;
  const known = kind === "node" || kind === "pod";
  if (!known || parts.includes("") || parts.length !== wanted || more.length > 0) {
    const asked = ["explain", kind, name, ...more].filter((word) => word !== "").join(" ");
    throw new ConfigProblem(`${asked}: write it as explain node worker-7 or explain pod shop/cart-0`);
  }
  return `/api/explain/${kind}/${parts.join("/")}`;
}
