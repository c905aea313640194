/**
 * Describes a failed run: fewer faults that still make it fail, and which messages led to the writes about the object.
 */
import type { Message, MessageType } from "../../protocols/messages.ts";
import { FAULT } from "./meddler.ts";
import { simulate } from "./simulate.ts";
import type { Swarm } from "./swarm.ts";

/** A message that crossed the network, with the world's time. */
export interface Crossing {
  readonly atMs: number;
  readonly message: Message<MessageType>;
}

const CAUSES_MAX = 8;
const LINES_MAX = 40;
const FAULTS_MAX = 12;

/** The kind of a problem: its text without names and numbers. */
function kindOf(problem: string): string {
  return problem.replace(/[\w-]*\d[\w-]*/g, "#").slice(0, 60);
}

/** The swarm with only the faults that it needs to fail in the same way. */
export function shrink(swarm: Swarm): Swarm {
  const problem = simulate(swarm.seed, swarm).problem;
  if (problem === null) return swarm;
  let smallest = swarm;
  for (const fault of swarm.faults) {
    const fewer = { ...smallest, faults: new Set([...smallest.faults].filter((other) => other !== fault)) };
    const outcome = simulate(swarm.seed, fewer).problem;
    if (outcome !== null && kindOf(outcome) === kindOf(problem)) smallest = fewer;
  }
  return smallest;
}

/** Runs a swarm and describes the writes about the object of its problem, each with the messages that led to it. */
export function describeRun(swarm: Swarm): string[] {
  const crossings: Crossing[] = [];
  const { problem, steps } = simulate(swarm.seed, swarm, { crossed: (crossing) => crossings.push(crossing) });
  if (problem === null) return ["it does not fail any more"];
  const names = new Set(problem.match(/(zone-\d+-n\d+|pod-[\w-]+)/g) ?? []);
  const byId = new Map(crossings.map((crossing) => [crossing.message.id, crossing]));
  const lines: string[] = [];
  for (const { atMs, message } of crossings) {
    if (message.type !== "done.write" || !("name" in message.body) || !names.has(message.body.name)) continue;
    if (!("outcome" in message.body)) continue;
    const { outcome, change, detail } = message.body;
    lines.push(`${seconds(atMs)} ${message.source}: ${change}: ${outcome} ${detail}`);
    lines.push(...causesOf(message.cause, byId).map((cause) => `    because ${cause}`));
  }
  const writes = steps.filter(({ what }) => [...names].some((name) => what.endsWith(name)));
  const last = writes.slice(-10).map(({ atMs, writer, what }) => `${seconds(atMs)} ${writer} wrote ${what}`);
  const faults = steps.filter(({ what }) => what.startsWith(FAULT)).slice(-FAULTS_MAX);
  const struck = faults.map(({ atMs, what }) => `${seconds(atMs)} ${what}`);
  return [problem, ...lines.slice(-LINES_MAX), ...last, ...struck];
}

function causesOf(id: string | null, byId: ReadonlyMap<string, Crossing>): string[] {
  const causes: string[] = [];
  for (let next = id; next !== null && causes.length < CAUSES_MAX; ) {
    const crossing = byId.get(next);
    if (crossing === undefined) return [...causes, `${next}, which was lost or came before`];
    const { type, source, body, cause } = crossing.message;
    causes.push(`${source} sent ${type} at ${seconds(crossing.atMs)}: ${JSON.stringify(body).slice(0, 140)}`);
    next = cause;
  }
  return causes;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)} s`;
}
