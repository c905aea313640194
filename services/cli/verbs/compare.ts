/** `vigil compare`: what Vigil did or would have done about failed nodes, beside what the other controllers did. */
import type { ComparisonReport } from "../../../protocols/ledger-reader.ts";
import { choiceSetting, durationSetting } from "../../platform/config/setting-builders.ts";
import { COMPARISON_OUTPUTS, comparisonText } from "../compare/comparison-printer.ts";
import { CONSOLE_SETTINGS, getFromConsole } from "../connect/console-client.ts";
import { defineVerb, type Verb } from "../verb.ts";

const WEEK_MS = 7 * 24 * 3_600_000;

const SETTINGS = {
  since: durationSetting(
    "since",
    WEEK_MS,
    "How long ago the comparison begins; at the earliest when the record starts, a week ago with JetStream.",
  ),
  output: choiceSetting<string>(
    "output",
    COMPARISON_OUTPUTS,
    "table",
    "Output format; markdown is a page for a change request.",
  ),
  ...CONSOLE_SETTINGS,
} as const;

/** The verb that compares Vigil with the other controllers of its cluster. */
export const compareVerb: Verb = defineVerb({
  name: "compare",
  summary: "compare what Vigil did or would have done with what upstream did",
  settings: SETTINGS,
  examples: [
    { command: "vigil compare", does: "verdicts, taints and deletions of both sides, and every difference" },
    { command: "vigil compare --since=24h -o markdown", does: "the same of the last day, as a page" },
  ],
  run: async (values, _words, host) => {
    const sinceAt = Math.round(host.wallMs() - values.since);
    const report = await getFromConsole<ComparisonReport>(values, `/api/compare?since=${sinceAt}`, host);
    host.print(comparisonText(report, values.output));
    return 0;
  },
});
