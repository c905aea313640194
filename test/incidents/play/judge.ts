/**
 * Compares what a controller wrote in an incident with what was right: which pods it deleted rightly, wrongly or not at
 * all, and which nodes it found unknown. Pure.
 */
import type { AuditedRequest } from "../../support/kube-audit.ts";
import type { DrawnIncident } from "./draw.ts";

/** A time in which no node could be heard, in epoch milliseconds. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

/** A taint that users added. */
export interface UserTaint {
  readonly key: string;
  readonly at: number;
}

/** What was done with a node and its pod. */
export interface PlayedNode {
  readonly name: string;
  readonly group: string;
  /** When its kubelet sent its last heartbeat before it fell silent first; null for one that never did. */
  readonly silentAt: number | null;
  /** The name of its pod; null for none. */
  readonly pod: string | null;
  /** For how many seconds the pod tolerates a taint, by key. */
  readonly tolerates: ReadonlyMap<string, number>;
  readonly userTaints: readonly UserTaint[];
}

/** An incident as it was played against one controller. */
export interface Play {
  readonly incident: DrawnIncident;
  readonly nodes: readonly PlayedNode[];
  readonly startedAt: number;
  readonly endedAt: number;
  readonly outages: readonly Outage[];
  /** The times in which no pod could be deleted. */
  readonly refusals: readonly Outage[];
  /** The successful writes of the controller in the cluster. */
  readonly writes: readonly AuditedRequest[];
  readonly graceMs: number;
  /** What the incident waited for in vain, such as a taint. */
  readonly missed: readonly string[];
  /** Whether the controller evicted a pod by a new taint afterwards. */
  readonly worksAfter: boolean;
}

/** What became of an incident. */
export interface Outcome {
  /** Pods that were deleted and should not have been, or not yet. */
  readonly wrong: readonly string[];
  /** Pods that were deleted in time. */
  readonly rightly: number;
  /** Pods that should have been deleted and were not, or too late. */
  readonly missing: readonly string[];
  /** Verdicts about machines that lived. */
  readonly falseVerdicts: readonly string[];
  /** Dead nodes that were not found. */
  readonly notFound: readonly string[];
  /** From the last heartbeat of a dead node until it was found unknown. */
  readonly verdictSeconds: readonly number[];
  readonly writes: number;
  readonly missed: readonly string[];
  readonly worksAfter: boolean;
  readonly nodeSeconds: number;
}

/** Stamps of the API are whole seconds. */
const EARLY_MS = 2_000;
/** How late a deletion may be: several pods go one after the other, and a busy machine is late. */
const LATE_MS = 8_000;
const NO_EXECUTE = "NoExecute";
/** The taints by silence, whose countdowns pause in an outage. */
const LOSS = "node.kubernetes.io/";

interface ShownNode {
  readonly metadata?: { readonly name?: string };
  readonly spec?: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime?: string;
    }[];
  };
}

/** Whether the controller did what was right, all of it. */
export function isRight(outcome: Outcome): boolean {
  const { wrong, missing, falseVerdicts, notFound, missed, worksAfter } = outcome;
  return [wrong, missing, falseVerdicts, notFound, missed].every(({ length }) => length === 0) && worksAfter;
}

/** The outcome of an incident for one controller. */
export function judge(play: Play): Outcome {
  const pods = play.nodes.filter(({ pod }) => pod !== null).map((node) => podOutcome(play, node));
  const verdicts = play.nodes.map((node) => verdictOutcome(play, node));
  const names = new Set(play.nodes.flatMap(({ name, pod }) => [name, pod ?? name]));
  return {
    wrong: pods.flatMap(({ wrong }) => wrong),
    rightly: pods.filter(({ isRightly }) => isRightly).length,
    missing: pods.flatMap(({ missing }) => missing),
    falseVerdicts: verdicts.flatMap(({ wrong }) => wrong),
    notFound: verdicts.flatMap(({ notFound }) => notFound),
    verdictSeconds: verdicts.flatMap(({ seconds }) => seconds),
    writes: during(play).filter(({ name, resource }) => names.has(name) && resource !== "events").length,
    missed: play.missed,
    worksAfter: play.worksAfter,
    nodeSeconds: (play.nodes.length * (play.endedAt - play.startedAt)) / 1000,
  };
}

/** When a countdown ends that began at an instant: an outage pauses it and leaves at least the whole grace. */
export function pausedDeadline(
  { beganAt, forMs }: { readonly beganAt: number; readonly forMs: number },
  outages: readonly Outage[],
  graceMs: number,
): number {
  let deadline = beganAt + forMs;
  for (const { from, to } of outages) {
    if (to <= beganAt || from >= deadline) continue;
    deadline = to + Math.max(deadline - Math.max(from, beganAt), graceMs);
  }
  return deadline;
}

function during({ writes, startedAt, endedAt }: Play): AuditedRequest[] {
  return writes.filter(({ receivedAt }) => receivedAt >= startedAt && receivedAt <= endedAt);
}

function podOutcome(play: Play, node: PlayedNode): { wrong: string[]; missing: string[]; isRightly: boolean } {
  const { pod, group } = node;
  const isDeletion = ({ verb, resource, name }: AuditedRequest) =>
    name === pod && verb === "delete" && resource === "pods";
  const deletions = during(play).filter(isDeletion);
  const nothing = { wrong: [], missing: [], isRightly: false };
  const [first] = deletions;
  if (play.incident.right[group]?.pods !== "go") {
    const times = deletions.length > 1 ? `, ${deletions.length} times` : "";
    return {
      ...nothing,
      wrong: first === undefined ? [] : [`${pod} at ${secondOf(play, first.receivedAt)} s${times}`],
    };
  }
  const due = dueOf(play, node, first?.receivedAt ?? play.endedAt);
  const text = due === null ? "never due" : `due at ${secondOf(play, due.from)} s`;
  if (first === undefined) return { ...nothing, missing: [`${pod}, ${text}`] };
  const at = `${pod} at ${secondOf(play, first.receivedAt)} s, ${text}`;
  if (due === null || first.receivedAt < due.from - EARLY_MS) return { ...nothing, wrong: [at] };
  if (first.receivedAt > due.to + LATE_MS) return { ...nothing, missing: [at] };
  return { ...nothing, isRightly: true };
}

/**
 * When the pod of a dead node is due by the taints that were there before an instant: not before what it tolerates is
 * over, and not later than if outages pause that; null while no taint counts.
 */
function dueOf(play: Play, node: PlayedNode, until: number): Outage | null {
  const began = new Map<string, number>(node.userTaints.map(({ key, at }) => [key, at]));
  for (const { key, at } of lossTaints(play, node.name, until)) began.set(key, at);
  const dues = [...began].map(([key, beganAt]) => {
    const forMs = (node.tolerates.get(key) ?? 0) * 1000;
    const outages = key.startsWith(LOSS) ? play.outages : [];
    return { from: beganAt + forMs, to: pausedDeadline({ beganAt, forMs }, outages, play.graceMs) };
  });
  if (dues.length === 0) return null;
  const to = Math.min(...dues.map((due) => due.to));
  const refusal = play.refusals.find((each) => to >= each.from && to < each.to);
  return { from: Math.min(...dues.map(({ from }) => from)), to: refusal?.to ?? to };
}

/** The NoExecute taints by silence that a controller added to a node, each since when. */
function lossTaints({ writes }: Play, name: string, until: number): UserTaint[] {
  const since = new Map<string, number>();
  for (const { answer, receivedAt } of writes) {
    const node = shownNode(answer);
    if (node?.metadata?.name !== name || receivedAt > until) continue;
    for (const { key, effect } of node.spec?.taints ?? []) {
      if (effect === NO_EXECUTE && key.startsWith(LOSS) && !since.has(key)) since.set(key, receivedAt);
    }
  }
  return [...since].map(([key, at]) => ({ key, at }));
}

function verdictOutcome(play: Play, node: PlayedNode): { wrong: string[]; notFound: string[]; seconds: number[] } {
  const { name, group, silentAt } = node;
  const verdicts = verdictsOf(play, name);
  const right = play.incident.right[group]?.unknown;
  if (right === "either") return { wrong: [], notFound: [], seconds: [] };
  const found = right === "once" ? verdicts.find((at) => silentAt !== null && at > silentAt) : undefined;
  return {
    wrong: verdicts.filter((at) => at !== found).map((at) => `${name} at ${secondOf(play, at)} s`),
    notFound: right === "once" && found === undefined ? [name] : [],
    seconds: found === undefined || silentAt === null ? [] : [(found - silentAt) / 1000],
  };
}

/** When a controller changed a node's Ready to Unknown. One that it finds in a backup has an older transition. */
function verdictsOf(play: Play, name: string): number[] {
  const found = new Map<string, number>();
  for (const { answer, receivedAt, resource } of during(play)) {
    const node = shownNode(answer);
    if (node?.metadata?.name !== name || resource !== "nodes/status") continue;
    const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
    const since = ready?.lastTransitionTime ?? "";
    const isNew = Date.parse(since) >= play.startedAt - EARLY_MS && !found.has(since);
    if (ready?.status === "Unknown" && isNew) found.set(since, receivedAt);
  }
  return [...found.values()];
}

function shownNode(answer: unknown): ShownNode | null {
  return answer !== null && typeof answer === "object" && "kind" in answer && answer.kind === "Node"
    ? (answer as ShownNode)
    : null;
}

const secondOf = ({ startedAt }: Play, at: number): number => Math.round((at - startedAt) / 1000);
