/** The result of a soak: every breach of a rule, and the lateness of required changes. It changes nothing. */
import { deletionProblem, rateProblems, type Silence, silenceAt, verdictProblem } from "./soak.rules.ts";
import { SOAK_SETTINGS, type SoakWorld } from "./soak.world.ts";

const SECOND = 1000;

/** The breaches so far. */
export function breachesOf(world: SoakWorld): string[] {
  const { recorder } = world;
  const { taints } = recorder;
  const ofVerdicts = recorder.verdicts.map((verdict) =>
    verdictProblem(verdict, world.silences(verdict.node), SOAK_SETTINGS),
  );
  const ofDeletions = recorder.deletions.map((deletion) =>
    deletionProblem(deletion, { silences: world.silences(deletion.node), taints }, SOAK_SETTINGS),
  );
  const found = [...ofVerdicts, ...ofDeletions].filter((problem) => problem !== null);
  return [...found, ...rateProblems(taints, SOAK_SETTINGS)];
}

/** The lines of the report. */
export function reportLines(world: SoakWorld): string[] {
  const { recorder } = world;
  const lateness = recorder.verdicts.flatMap(({ node, atMs }) => latenessMs(world.silences(node), atMs));
  const count = (what: string, items: readonly unknown[]): string => `${what}: ${items.length}`;
  return [
    count("nodes made Unknown", recorder.verdicts),
    count("NoExecute taints", recorder.taints),
    count("pods deleted", recorder.deletions),
    `verdict after switch-off plus grace, seconds, p50 / p90 / max: ${[0.5, 0.9, 1].map((share) => quantile(lateness, share)).join(" / ")}`,
    ...world.members.flatMap(({ problems }) => problems.map((problem) => `process: ${problem}`)),
  ];
}

function latenessMs(silences: readonly Silence[], atMs: number): number[] {
  const silence = silenceAt(silences, atMs, SOAK_SETTINGS.crossingMs);
  return silence === null ? [] : [atMs - silence.fromMs - SOAK_SETTINGS.graceMs];
}

function quantile(values: readonly number[], share: number): string {
  const sorted = values.toSorted((left, right) => left - right);
  const value = sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  return (value / SECOND).toFixed(1);
}
