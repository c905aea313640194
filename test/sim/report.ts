/** What many runs came to, as lines for a person. */
import type { Outcome } from "./crew.ts";

/** The report: how much was run, how often the situations that matter were met, and what failed. */
export function reportLines({ runs, twice, failures, sometimes, virtualMs, tookMs }: Outcome): string[] {
  const hours = (virtualMs / 3_600_000).toFixed(1);
  const head = `${runs} seeds, ${hours} simulated hours in ${Math.round(tookMs / 1000)} s; ${twice} of them run twice`;
  const situations = [...sometimes]
    .sort(([left], [right]) => left.localeCompare(right))
    .map(([situation, count]) => `  ${situation}: ${count.times} times in ${count.runs} runs`);
  const wrong = failures.map(({ seed, problem }) => `  seed ${seed}: ${problem}`);
  return [head, "sometimes:", ...situations, failures.length === 0 ? "no seed failed" : "failed:", ...wrong];
}
