/**
 * Plays incidents on real servers, against each controller on a cluster of its own. Incidents that touch nothing but
 * their own nodes share a cluster: they mostly wait.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Actions, Incident } from "../incident.ts";
import { CONTROLLERS, type ControllerName, REAL_PERIODS, SHORT_PERIODS } from "./controller.ts";
import { type DrawnIncident, drawIncident } from "./draw.ts";
import { IncidentCluster } from "./incident-cluster.ts";
import { isRight, judge, type Outcome, type Play } from "./judge.ts";
import { Stage } from "./stage.ts";

/** What becomes of the whole cluster, and of every incident in it. */
const OF_THE_CLUSTER: ReadonlySet<string> = new Set<keyof Actions>([
  "refuse",
  "kill",
  "freeze",
  "controllerPath",
  "loadBalancer",
  "age",
  "backUp",
  "restore",
]);
const LOG_CHARACTERS_MAX = 6_000;
/** What shows afterwards that a controller still works: a node joins, a user taints it, and its pod goes. */
const PROBE: Incident = {
  name: "probe",
  title: "A user taints a node",
  reports: [],
  seen: "",
  groups: { tainted: { nodes: 1, pod: {} } },
  timeline: [],
  right: { tainted: { pods: "go", unknown: "either" } },
  because: "",
};

/** An incident and its outcome for each controller. */
export interface PlayedIncident {
  readonly incident: Incident;
  readonly outcomes: Readonly<Record<ControllerName, Outcome>>;
}

/** How incidents are played. */
export interface PlayOptions {
  readonly seed: number;
  /** How many clusters of each controller run at once. */
  readonly atOnce: number;
  /** Whether the ends of controllers' logs are reported. */
  readonly showsLogs?: boolean;
  /** Gets lines for people while incidents are played. */
  readonly report?: (line: string) => void;
}

/** Plays incidents; resolves in their order. */
export async function playIncidents(incidents: readonly Incident[], options: PlayOptions): Promise<PlayedIncident[]> {
  const waiting = clustersFor(incidents);
  const outcomes = new Map<string, Record<ControllerName, Outcome>>();
  const playOn = async () => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      const drawn = group.map((incident) => drawIncident(incident, options.seed));
      const [upstream = [], own = []] = await playAgainstEach(drawn, options);
      for (const [index, { name }] of group.entries()) {
        const sides = { "kube-controller-manager": upstream[index], vigil: own[index] };
        outcomes.set(name, sides as Record<ControllerName, Outcome>);
      }
    }
  };
  await Promise.all(Array.from({ length: options.atOnce }, playOn));
  return incidents.map((incident) => ({ incident, outcomes: given(outcomes.get(incident.name)) }));
}

/** Both controllers at once, where one machine has room for that. */
async function playAgainstEach(incidents: readonly DrawnIncident[], options: PlayOptions): Promise<Outcome[][]> {
  if (incidents.every(({ isLarge }) => isLarge !== true)) {
    return Promise.all(CONTROLLERS.map((name) => playTogether(name, incidents, options)));
  }
  const outcomes: Outcome[][] = [];
  for (const name of CONTROLLERS) outcomes.push(await playTogether(name, incidents, options));
  return outcomes;
}

/** The incidents of each cluster. */
function clustersFor(incidents: readonly Incident[]): Incident[][] {
  const alone = incidents.filter((incident) => needsCluster(incident));
  const together = incidents.filter((incident) => !needsCluster(incident));
  return [...(together.length === 0 ? [] : [together]), ...alone.map((incident) => [incident])];
}

function needsCluster({ flags, timeline, isLarge }: Incident): boolean {
  return (
    isLarge === true ||
    flags !== undefined ||
    timeline.some((step) => Object.keys(step).some((action) => OF_THE_CLUSTER.has(action)))
  );
}

async function playTogether(
  controller: ControllerName,
  incidents: readonly DrawnIncident[],
  { report = () => {}, showsLogs = false }: PlayOptions,
): Promise<Outcome[]> {
  const hasControllerPath = incidents.some(({ timeline }) => timeline.some((step) => "controllerPath" in step));
  const [first] = incidents;
  const isLarge = first?.isLarge === true;
  const periods = isLarge ? REAL_PERIODS : SHORT_PERIODS;
  const setup = { periods, flags: first?.flags ?? {}, hasControllerPath, untaintedNodes: isLarge };
  const cluster = await IncidentCluster.open(controller, setup);
  try {
    const plays = await Promise.all(incidents.map((incident) => playOne(cluster, incident)));
    const worksAfter = await works(cluster);
    const writes = cluster.api.audited().filter(({ status }) => status >= 200 && status < 300);
    const { outages, refusals } = cluster;
    const outcomes = plays.map(({ missed, ...play }) => {
      const unsaid = unsaidOf(cluster, play.incident);
      return judge({ ...play, missed: [...missed, ...unsaid], outages, refusals, writes, worksAfter });
    });
    for (const [index, outcome] of outcomes.entries()) report(lineOf(controller, incidents[index], outcome));
    if (showsLogs) report(`the log of ${controller}:\n${cluster.log().slice(-LOG_CHARACTERS_MAX)}`);
    return outcomes;
  } finally {
    await cluster.close();
  }
}

type Played = Omit<Play, "outages" | "refusals" | "writes" | "worksAfter">;

async function playOne(cluster: IncidentCluster, incident: DrawnIncident): Promise<Played> {
  const stage = new Stage(cluster, incident);
  try {
    await stage.open();
    const startedAt = Date.now();
    for (const { after = 0, ...step } of incident.timeline) {
      await pause(after * 1000);
      await stage.act(step);
    }
    const { missed } = stage;
    const graceMs = cluster.periods.graceSeconds * 1000;
    return { incident, nodes: stage.played(), startedAt, endedAt: Date.now(), graceMs, missed };
  } finally {
    stage.close();
  }
}

/** What Vigil should have said in an incident and did not. */
function unsaidOf(cluster: IncidentCluster, { says }: DrawnIncident): string[] {
  if (says === undefined || cluster.controllerName !== "vigil" || cluster.log().includes(says)) return [];
  return [`does not say: ${says}`];
}

async function works(cluster: IncidentCluster): Promise<boolean> {
  const stage = new Stage(cluster, drawIncident(PROBE, 0));
  try {
    await stage.open();
    await stage.act({ taint: { key: "maintenance", of: Object.keys(PROBE.groups) } });
    return await stage.evicts(Object.keys(PROBE.groups));
  } catch {
    return false;
  } finally {
    stage.close();
  }
}

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("an incident was not played");
  return value;
}

function lineOf(controller: ControllerName, incident: DrawnIncident | undefined, outcome: Outcome): string {
  const { verdictSeconds, nodeSeconds: _nodeSeconds, ...rest } = outcome;
  const seconds = verdictSeconds.map((second) => second.toFixed(1));
  const verdict = isRight(outcome) ? "right" : "WRONG";
  return `${incident?.name} ${controller}: ${verdict} ${JSON.stringify({ ...rest, verdictSeconds: seconds })}`;
}
