/** What a process in shadow concludes and would have written, told in its log. It decides nothing. */

import type { LedgerReader } from "../../../protocols/ledger-reader.ts";
import type { Log, Stop } from "../../../protocols/ports.ts";

/** Verdicts, countdowns and writes; what was asked for follows from the first and leads to the last. */
const LOGGED_TYPES: ReadonlySet<string> = new Set(["judged.node", "judged.pod", "done.write"]);

/** Logs each decision once, however often it is repeated because nothing comes of it. */
export function logDecisions(ledger: Pick<LedgerReader, "onDecision">, log: Log): Stop {
  return ledger.onDecision(({ type, object: { kind, namespace, name }, text, times }) => {
    if (times > 1 || !LOGGED_TYPES.has(type)) return;
    log.info(`${kind.toLowerCase()} ${namespace === "" ? name : `${namespace}/${name}`} ${text}`);
  });
}
