/** What people read of played incidents: the page docs/incidents.md, and the table that a run prints. Pure. */
import { CONTROLLERS, type ControllerName, SHORT_PERIODS } from "./controller.ts";
import { isRight, type Outcome } from "./judge.ts";
import type { PlayedIncident } from "./play.ts";

/** With what a table was made. */
export interface ReportFrame {
  /** Versions of Kubernetes and Vigil. */
  readonly kubernetes: string;
  readonly vigil: string;
  readonly date: string;
  readonly seed: number;
}

const YEAR_SECONDS = 365.25 * 24 * 3600;
const SHOWN_NAMES: Readonly<Record<ControllerName, string>> = {
  "kube-controller-manager": "kube-controller-manager",
  vigil: "Vigil",
};

/** The page. */
export function pageOf(played: readonly PlayedIncident[], frame: ReportFrame): string {
  const { kubernetes, vigil, date, seed } = frame;
  return `# Incidents

What people reported, played on a real etcd and kube-apiserver against kube-controller-manager and against Vigil. Each
is a file of \`test/incidents\`: nodes, events with times, and the right answer; a seed picks times and sizes. The grace
is ${SHORT_PERIODS.graceSeconds} s, and pods tolerate seconds instead of minutes.

Kubernetes ${kubernetes}, Vigil ${vigil}, ${date}: \`npm run incidents -- --seed=${seed}\`, with the programs of a
control plane in \`KUBEBUILDER_ASSETS\` or, of any version, in \`KUBE_TESTS\`.

${summaryTable(played)}

*Wrongly* evicted are pods that should have stayed, or were not due yet; *too late* are those not deleted within 8 s of
their deadline; a *false* verdict is a \`Ready=Unknown\` of a machine that lived. A node-year is one node for a year
*in such incidents*: the nodes of each times its seconds, added up, ${years(played, "vigil")} here, without
those of the large cluster.

Below, *evicted* are pods that had to go and went in time, seconds are those from the last heartbeat of a dead node to
its verdict, at most, and *w* are writes about these nodes and pods. *Open* marks where upstream's rules, which Vigil
keeps, give another answer.

${incidentTable(played)}
`;
}

/** The table of the incidents. */
export function incidentTable(played: readonly PlayedIncident[]): string {
  const rows = played.map(({ incident, outcomes }) => [
    `${incident.title} (${incident.reports.map(linkOf).join(", ")})`,
    `${incident.because}${incident.unsolved === undefined ? "" : ` *Open*: ${incident.unsolved}`}`,
    ...CONTROLLERS.map((name) => outcomeText(outcomes[name])),
  ]);
  return table(["incident", "right", ...CONTROLLERS.map((name) => SHOWN_NAMES[name])], rows);
}

/** The sums over all incidents. */
export function summaryTable(played: readonly PlayedIncident[]): string {
  const rows = CONTROLLERS.map((name) => {
    const outcomes = played.map(({ outcomes }) => outcomes[name]);
    const exposed = exposedSeconds(played, name) / YEAR_SECONDS;
    const wrong = count(outcomes, "wrong");
    const falseVerdicts = count(outcomes, "falseVerdicts");
    const rate = (events: number) =>
      exposed === 0 ? `${events}` : `${events} (${Math.round(events / exposed).toLocaleString("en")})`;
    const right = `${outcomes.filter(isRight).length} of ${outcomes.length}`;
    return [SHOWN_NAMES[name], right, rate(wrong), rate(falseVerdicts), `${count(outcomes, "missing")}`];
  });
  return table(
    ["", "incidents right", "wrongly evicted (per node-year)", "false verdicts (per node-year)", "too late"],
    rows,
  );
}

/** What one controller did, in words. */
export function outcomeText(outcome: Outcome): string {
  const { wrong, missing, falseVerdicts, notFound, verdictSeconds, rightly, writes, missed, worksAfter } = outcome;
  const faults = [
    [wrong, "wrongly"],
    [missing, "too late"],
    [falseVerdicts, "false"],
    [notFound, "not found"],
  ] as const;
  const texts = [
    ...faults.filter(([names]) => names.length > 0).map(([names, text]) => `**${names.length} ${text}**`),
    ...missed.map((text) => `**${text}**`),
    ...(worksAfter ? [] : ["**blind afterwards**"]),
    ...(isRight(outcome) ? ["right"] : []),
    ...(rightly > 0 ? [`${rightly} evicted`] : []),
    ...(verdictSeconds.length > 0 ? [`${Math.max(...verdictSeconds).toFixed(1)} s`] : []),
    `${writes} w`,
  ];
  return texts.join(", ");
}

function count(outcomes: readonly Outcome[], what: "wrong" | "missing" | "falseVerdicts"): number {
  return outcomes.reduce((sum, outcome) => sum + outcome[what].length, 0);
}

function years(played: readonly PlayedIncident[], name: ControllerName): string {
  return (exposedSeconds(played, name) / YEAR_SECONDS).toFixed(6);
}

/** The time of a cluster with hundreds of nodes would be most of it, and hide what happened in the others. */
function exposedSeconds(played: readonly PlayedIncident[], name: ControllerName): number {
  const counted = played.filter(({ incident }) => incident.isLarge !== true);
  return counted.reduce((sum, { outcomes }) => sum + outcomes[name].nodeSeconds, 0);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}

/** `kubernetes#1` is of kubernetes/kubernetes. */
function linkOf(report: string): string {
  const [repository = "", number = ""] = report.split("#");
  const path = repository.includes("/") ? repository : `${repository}/${repository}`;
  return `[${report.slice(report.lastIndexOf("/") + 1)}](https://github.com/${path}/issues/${number})`;
}
