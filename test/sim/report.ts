/** What many runs came to, as lines for a person. */
import type { Outcome } from "./crew.ts";

/** The report: how much was run of which commit, how often the situations that matter were met, and what failed. */
export function reportLines(outcome: Outcome, commit: string): string[] {
  const { runs, twice, failures, sometimes, seeds } = outcome;
  const situations = [...sometimes]
    .sort(([left], [right]) => left.localeCompare(right))
    .map(([situation, count]) => `  ${situation}: ${count.times} times in ${count.runs} runs`);
  const wrong = failures.map(({ seed, problem }) => `  seed ${seed}: ${problem}`);
  return [
    `commit ${commit}, seeds ${seeds[0]} to ${seeds[1]}`,
    headLine(outcome),
    `${twice} of them ran twice, to the same trace`,
    "sometimes:",
    ...situations,
    failures.length === 0 ? `no seed of ${runs} failed` : `${failures.length} seeds failed:`,
    ...wrong,
  ];
}

/** How far many runs have come, in one line. */
export function headLine({ runs, virtualMs, tookMs, failures }: Outcome): string {
  const hours = (virtualMs / 3_600_000).toFixed(1);
  return `${runs} seeds, ${hours} simulated hours in ${Math.round(tookMs / 1000)} s, ${failures.length} failed`;
}
