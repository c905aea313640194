/** Reads and writes the text of remembered outages, under `outages` of the ConfigMap kube-system/vigil-freeze. */
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import { apiMicroTime, epochMsOf } from "../domain/api-time.ts";
import { mergedIntervals } from "../domain/paused-time/frozen-time.ts";
import { UNKNOWN_START_AT } from "../domain/paused-time/outages.ts";
import { parsed, recordOf, textOf } from "../structures/json.ts";

/**
 * The text of outages that are over: a JSON list of `from` and `to`, in whole milliseconds. They are rounded to the longer
 * outage, because one that is remembered a little shorter than it was observed counts as not remembered, for ever.
 */
export function outagesText(outages: readonly FrozenInterval[]): string {
  const over = outages.flatMap(({ fromAt, toAt }) =>
    toAt === null ? [] : [{ from: apiMicroTime(Math.floor(fromAt)), to: apiMicroTime(Math.ceil(toAt)) }],
  );
  return JSON.stringify(over);
}

/**
 * Reads that text at an instant; no text is none. What cannot be read may have been any outage up to its end, and up to
 * now where the end cannot be read either.
 */
export function readOutages(text: string | null, nowAt: number): readonly FrozenInterval[] {
  const written = parsed(text ?? "[]");
  if (!Array.isArray(written)) return [{ fromAt: UNKNOWN_START_AT, toAt: nowAt }];
  const outages = written.map((entry): FrozenInterval => {
    const { from, to } = recordOf(entry);
    const toAt = epochMsOf(textOf(to));
    return toAt === null
      ? { fromAt: UNKNOWN_START_AT, toAt: nowAt }
      : { fromAt: epochMsOf(textOf(from)) ?? UNKNOWN_START_AT, toAt: Math.min(toAt, nowAt) };
  });
  return mergedIntervals(outages);
}
