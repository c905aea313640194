/**
 * Remembers when nodes were frozen, because countdowns need it for as long as a taint is older than a freeze. The
 * memory is the ConfigMap kube-system/vigil-freeze: under `frozen` the intervals of each policy and of all nodes,
 * written by the policy service; under `pauseRequests` the requests to freeze all nodes, or the nodes of a policy of
 * --config, written by `vigil freeze`.
 */
import { FROZEN_INTERVALS_MAX, PAUSE_REQUESTS_MAX } from "../../protocols/judged.ts";
import type { NodePolicySpec, PauseRequestSpec } from "../../protocols/node-policy.ts";
import type { FrozenInterval, PauseRequest, PolicySet } from "../../protocols/policy-set.ts";
import { apiMicroTime, epochMsOf } from "../domain/api-time.ts";
import { freezesByMode } from "../domain/freeze.ts";
import { pauseRequestOf, readablePauseRequest } from "../domain/node-policy.parse.ts";
import { boundedIntervals, mergedIntervals } from "../domain/paused-time/frozen-time.ts";
import { listOf, parsed, recordOf, textOf } from "../structures/json.ts";

/** The scope of freezes of all nodes; every other scope is the name of a policy. */
export const EVERYWHERE = "";

/** A request to freeze the nodes of one scope. */
interface FreezingRequest extends PauseRequest {
  /** Whether it is for a policy but in the ConfigMap: then no change of the policy began or ended it. */
  readonly isRecorded?: boolean;
}

/** What freezes the nodes of one scope now. */
export interface FreezeSource {
  /** Whether the mode of the policy freezes its nodes. */
  readonly byMode: boolean;
  readonly pauseRequests: readonly FreezingRequest[];
  /** When the policy was last changed at the API, in epoch milliseconds; null where that is not known. */
  readonly changedAt: number | null;
}

/**
 * The frozen intervals of each scope: the past ones, and what each present or planned freeze adds. These may overlap,
 * because each freeze may turn out to have ended earlier than the others.
 */
export type FreezeMemory = ReadonlyMap<string, readonly FrozenInterval[]>;

/** What freezes the nodes of each scope. */
export type FreezeSources = ReadonlyMap<string, FreezeSource>;

/**
 * The memory at an instant, from the one before, what froze nodes until then as far as this process saw it, and what
 * freezes them now. Scopes without a source are forgotten.
 */
export function freezeMemory(
  before: FreezeMemory,
  { sourcesBefore = new Map(), sources }: { readonly sourcesBefore?: FreezeSources; readonly sources: FreezeSources },
  nowAt: number,
  intervalsMax: number = FROZEN_INTERVALS_MAX,
): FreezeMemory {
  const scopes = [...sources].map(([scope, source]): [string, readonly FrozenInterval[]] => {
    const sourceBefore = sourcesBefore.get(scope) ?? null;
    return [scope, remembered(before.get(scope) ?? [], { sourceBefore, source, intervalsMax }, nowAt)];
  });
  return new Map(scopes.filter(([, intervals]) => intervals.length > 0));
}

/**
 * When the nodes of a scope were and are frozen, as countdowns use it. Only past freezes are joined over the time
 * between them: joined future freezes would freeze nodes without a request. Half of the list is for present and future
 * freezes: each later one follows when one has ended. Example: the list may have 4 intervals, 2 are present or future,
 * and 3 are past: 10:00 to 10:10, 10:15 to 10:20 and 11:00 to 11:30. The first two have the shortest time between them,
 * so they become 10:00 to 10:20.
 */
export function frozenTime(
  memory: FreezeMemory,
  scope: string,
  nowAt: number,
  intervalsMax: number = FROZEN_INTERVALS_MAX,
): readonly FrozenInterval[] {
  const intervals = mergedIntervals(memory.get(scope) ?? []);
  const ahead = intervals.filter((interval) => !isOver(interval, nowAt)).slice(0, intervalsMax / 2);
  const over = intervals.filter((interval) => isOver(interval, nowAt));
  return [...boundedIntervals(over, intervalsMax - ahead.length), ...ahead];
}

function isOver({ toAt }: FrozenInterval, nowAt: number): boolean {
  return toAt !== null && toAt <= nowAt;
}

/**
 * The past stays as it is. What continues is what freezes the nodes now: a request that names its beginning and its end
 * counts as written, whatever was known of it before. Any other change happened when its policy was changed or, for a
 * request of the ConfigMap, now.
 */
function remembered(
  before: readonly FrozenInterval[],
  {
    sourceBefore,
    source,
    intervalsMax,
  }: {
    readonly sourceBefore: FreezeSource | null;
    readonly source: FreezeSource;
    readonly intervalsMax: number;
  },
  nowAt: number,
): readonly FrozenInterval[] {
  const over = before.filter((interval) => isOver(interval, nowAt));
  const past = mergedIntervals(over.filter((interval) => !isCorrected(interval, sourceBefore, source)));
  const running = before.filter(({ fromAt, toAt }) => fromAt <= nowAt && (toAt === null || toAt > nowAt));
  // The API server stamped the change, so a later one proves that this clock is behind, as after a suspension. A freeze
  // that ends too early would bring evictions forward.
  const changeAt = Math.max(source.changedAt ?? nowAt, past.at(-1)?.toAt ?? Number.NEGATIVE_INFINITY);
  const startAt = undatedStartAt(running, sourceBefore);
  const present = presentIntervals(source, { startAt, changeAt, nowAt });
  // A policy that was last changed before a freeze began did not end it.
  const endAt = (fromAt: number): number => ((source.changedAt ?? nowAt) > fromAt ? changeAt : nowAt);
  const ended = running
    .filter(({ fromAt }) => !present.some((interval) => interval.fromAt === fromAt))
    .map(({ fromAt }) => ({ fromAt, toAt: endAt(fromAt) }));
  const withdrawn = sourceBefore === null ? [] : withdrawnIntervals(sourceBefore, source, { startAt, changeAt, nowAt });
  const known = [...past, ...present, ...ended, ...withdrawn];
  const bounded = boundedIntervals(
    known.filter((interval) => isOver(interval, nowAt)),
    intervalsMax,
  );
  return distinctIntervals([...bounded, ...known.filter((interval) => !isOver(interval, nowAt))]);
}

/**
 * Whether an interval was only planned, by a request that has been changed or removed since: its end came while no
 * process saw it.
 */
function isCorrected(planned: FrozenInterval, sourceBefore: FreezeSource | null, source: FreezeSource): boolean {
  const isOf = ({ sinceAt, untilAt }: FreezingRequest) => sinceAt === planned.fromAt && untilAt === planned.toAt;
  const requests = (sourceBefore?.pauseRequests ?? []).filter(isOf);
  return requests.some(({ name }) => !source.pauseRequests.some((present) => present.name === name && isOf(present)));
}

/** The instants that changes of a scope are dated by. */
interface ChangeInstants {
  /** When a continuing freeze that names no beginning began; null when it begins with this change. */
  readonly startAt: number | null;
  readonly changeAt: number;
  readonly nowAt: number;
}

/** What freezes nodes now or was requested. */
function presentIntervals(
  { byMode, pauseRequests }: FreezeSource,
  { startAt, changeAt, nowAt }: ChangeInstants,
): readonly FrozenInterval[] {
  const policyStartAt = startAt ?? Math.min(changeAt, nowAt);
  const requested = pauseRequests
    .filter(({ sinceAt, untilAt }) => sinceAt !== null || untilAt === null || untilAt > nowAt)
    .map(({ sinceAt, untilAt, isRecorded = false }) => {
      return { fromAt: sinceAt ?? (isRecorded ? (startAt ?? nowAt) : policyStartAt), toAt: untilAt };
    });
  return [...requested, ...(byMode ? [{ fromAt: policyStartAt, toAt: null }] : [])];
}

/**
 * When a continuing freeze without a stated beginning began; null if it begins now. Requests that name their instants
 * began none of it.
 */
function undatedStartAt(running: readonly FrozenInterval[], sourceBefore: FreezeSource | null): number | null {
  const requests = sourceBefore?.pauseRequests ?? [];
  const undated = running.filter(
    ({ fromAt, toAt }) => !requests.some(({ sinceAt, untilAt }) => sinceAt === fromAt && untilAt === toAt),
  );
  return undated.length === 0 ? null : Math.min(...undated.map(({ fromAt }) => fromAt));
}

/** Intervals in order, without empty and equal ones. */
function distinctIntervals(intervals: readonly FrozenInterval[]): readonly FrozenInterval[] {
  const filled = intervals.filter(({ fromAt, toAt }) => toAt === null || toAt > fromAt);
  const distinct = new Map(filled.map((interval) => [`${interval.fromAt} ${interval.toAt}`, interval]));
  return [...distinct.values()].toSorted((left, right) => left.fromAt - right.fromAt);
}

/**
 * The time until now of freezes that are gone, or whose end is now in the past. All freezes that name no beginning
 * share one interval in the memory, and a text of an earlier version has one for all that froze nodes at once.
 */
function withdrawnIntervals(
  before: FreezeSource,
  now: FreezeSource,
  { startAt, changeAt, nowAt }: ChangeInstants,
): readonly FrozenInterval[] {
  /** When a request ended by the change; null where it continues, names its own instants, or has ended as planned. */
  const endOf = ({ name, sinceAt, untilAt, isRecorded = false }: FreezingRequest): number | null => {
    const present = now.pauseRequests.find((request) => request.name === name && request.sinceAt === sinceAt);
    if (present === undefined) return Math.min(untilAt ?? Number.POSITIVE_INFINITY, isRecorded ? nowAt : changeAt);
    const isThawed = sinceAt === null && present.untilAt !== untilAt;
    return isThawed && present.untilAt !== null && present.untilAt <= nowAt ? present.untilAt : null;
  };
  const requests = before.pauseRequests.map((request) => ({ sinceAt: request.sinceAt, endAt: endOf(request) }));
  const byMode = before.byMode && !now.byMode ? [{ sinceAt: null, endAt: changeAt }] : [];
  return [...requests, ...byMode].flatMap(({ sinceAt, endAt }) => {
    const fromAt = sinceAt ?? startAt;
    return endAt === null || fromAt === null ? [] : [{ fromAt, toAt: endAt }];
  });
}

/** A policy as far as it may freeze nodes: its own in force, otherwise all. */
export interface FreezingPolicy {
  readonly name: string;
  /** Null for one that is not in force. */
  readonly spec: NodePolicySpec | null;
  /** What it freezes without being in force. */
  readonly unplaced?: readonly PauseRequestSpec[];
  /** When its spec was last changed; null where that is not known. */
  readonly changedAt: number | null;
}

/** What freezes all nodes because the policy that requests it is not in force. */
export function unplacedRequests(policies: readonly FreezingPolicy[]): readonly RecordedPauseRequest[] {
  return policies.flatMap(({ unplaced = [] }) => unplaced.map((request) => ({ scope: EVERYWHERE, request })));
}

/**
 * What freezes the nodes of each policy, and all nodes; `requests` are those of the ConfigMap. A policy that is not in
 * force keeps its scope while it freezes: the memory of its nodes is needed again once it selects them.
 */
export function freezeSources(
  policies: readonly FreezingPolicy[],
  requests: readonly RecordedPauseRequest[],
): FreezeSources {
  const all = [...requests, ...unplacedRequests(policies)];
  const requestsFor = (scope: string) =>
    all.filter((each) => each.scope === scope).map(({ request }) => pauseRequestOf(request));
  const everywhere = { byMode: false, pauseRequests: requestsFor(EVERYWHERE), changedAt: null };
  const freezing = policies.filter(({ spec, unplaced = [] }) => spec !== null || unplaced.length > 0);
  const policySources = freezing.map(({ name, spec, unplaced = [], changedAt }): [string, FreezeSource] => {
    const own = (spec === null ? unplaced : (spec.pauseRequests ?? [])).map(pauseRequestOf);
    const byMode = spec?.mode !== undefined && freezesByMode({ mode: spec.mode });
    const recorded = requestsFor(name).map((request) => ({ ...request, isRecorded: true }));
    return [name, { byMode, pauseRequests: [...own, ...recorded], changedAt }];
  });
  return new Map([[EVERYWHERE, everywhere], ...policySources]);
}

/**
 * The requests of it that have not ended at an instant. A request that has ended is past, however it is changed
 * afterwards.
 */
export function lastingSources(sources: FreezeSources, at: number): FreezeSources {
  const lasting = ({ pauseRequests, ...source }: FreezeSource): FreezeSource => {
    return { ...source, pauseRequests: pauseRequests.filter(({ untilAt }) => untilAt === null || untilAt > at) };
  };
  return new Map([...sources].map(([scope, source]) => [scope, lasting(source)]));
}

/**
 * The union of two memories: two processes may remember for a moment, and a longer freeze brings no eviction forward.
 */
export function bothMemories(left: FreezeMemory, right: FreezeMemory): FreezeMemory {
  const scopes = new Set([...left.keys(), ...right.keys()]);
  const both = (scope: string) => [...(left.get(scope) ?? []), ...(right.get(scope) ?? [])];
  return new Map([...scopes].map((scope) => [scope, distinctIntervals(both(scope))]));
}

/** The memory that a process has published. */
export function publishedMemory({ policies, everywhere }: PolicySet): FreezeMemory {
  return new Map([[EVERYWHERE, everywhere.frozen], ...policies.map(({ name, frozen }) => [name, frozen] as const)]);
}

/**
 * The text under `frozen`. The last interval of a scope names what froze its nodes, of `lastingSources`. The next
 * process therefore sees what has ended while none ran.
 */
export function memoryText(memory: FreezeMemory, sources: FreezeSources = new Map()): string {
  const scopes = [...memory].toSorted(([left], [right]) => (left < right ? -1 : 1));
  const written = scopes.map(([scope, intervals]) => {
    const by = sourcesWritten(sources.get(scope));
    return [
      scope,
      intervals.map(({ fromAt, toAt }, index) => ({
        from: apiMicroTime(fromAt),
        to: instantText(toAt),
        ...(by.length > 0 && index === intervals.length - 1 ? { by } : {}),
      })),
    ];
  });
  return JSON.stringify(Object.fromEntries(written));
}

/** A source as it is written: `{}` for a mode, otherwise a request without its reason. */
type WrittenSource = {
  readonly name?: string;
  readonly since?: string | null;
  readonly until?: string | null;
  readonly recorded?: boolean;
};

function sourcesWritten(source: FreezeSource | undefined): readonly WrittenSource[] {
  if (source === undefined) return [];
  const requests = source.pauseRequests.map(({ name, sinceAt, untilAt, isRecorded }) => {
    return {
      name,
      since: instantText(sinceAt),
      until: instantText(untilAt),
      ...(isRecorded && { recorded: true }),
    };
  });
  return [...(source.byMode ? [{}] : []), ...requests];
}

function instantText(at: number | null): string | null {
  return at === null ? null : apiMicroTime(at);
}

/** What froze nodes when that text was written; nothing for a text of an earlier version. */
export function readSources(text: string | null): FreezeSources {
  const scopes = Object.entries(recordOf(parsed(text ?? "")));
  return new Map(scopes.map(([scope, written]) => [scope, sourceIn(recordOf(listOf(written).at(-1)).by)]));
}

function sourceIn(written: unknown): FreezeSource {
  const sources = listOf(written).map(recordOf);
  const pauseRequests = sources.flatMap(({ name, since, until, recorded }): FreezingRequest[] => {
    const text = textOf(name);
    const [sinceAt, untilAt] = [epochMsOf(textOf(since)), epochMsOf(textOf(until))];
    const isRecorded = recorded === true && { isRecorded: true };
    return text === null ? [] : [{ name: text, reason: null, sinceAt, untilAt, ...isRecorded }];
  });
  return { byMode: sources.some(({ name }) => name === undefined), pauseRequests, changedAt: null };
}

/** Reads that text; what is malformed is left out. */
export function readMemory(text: string | null): FreezeMemory {
  const scopes = Object.entries(recordOf(parsed(text ?? "")));
  return new Map(scopes.map(([scope, written]) => [scope, distinctIntervals(listOf(written).flatMap(intervalsIn))]));
}

function intervalsIn(written: unknown): FrozenInterval[] {
  const { from, to } = recordOf(written);
  const fromAt = epochMsOf(textOf(from));
  const toAt = epochMsOf(textOf(to));
  return fromAt === null || (to !== null && toAt === null) ? [] : [{ fromAt, toAt }];
}

/** A request under `pauseRequests`: for the nodes of a policy, or for all. */
export interface RecordedPauseRequest {
  readonly scope: string;
  readonly request: PauseRequestSpec;
}

/** What is in force of the text under `pauseRequests`, and one line for each invalid part of it. */
export interface RecordedPauseRequests {
  readonly requests: readonly RecordedPauseRequest[];
  readonly problems: readonly string[];
}

/** A text that cannot be read may freeze any node. */
const UNREADABLE: RecordedPauseRequest = {
  scope: EVERYWHERE,
  request: { name: "unknown", reason: "data.pauseRequests cannot be read" },
};

/**
 * Reads the text under `pauseRequests`. One that is no list freezes all nodes, so that a typing error thaws none, and
 * every process reads the same.
 */
export function readPauseRequests(text: string | null): RecordedPauseRequests {
  if (text === null || text.trim() === "") return { requests: [], problems: [] };
  const written = parsed(text);
  if (!Array.isArray(written)) {
    const problem = "data.pauseRequests: is no JSON list; all nodes are frozen until it is one";
    return { requests: [UNREADABLE], problems: [problem] };
  }
  // All are read, however many a user writes: the last one may be the freeze that applies now.
  const entries = written.map(readEntry);
  const problems = entries.flatMap(({ problem }) => problem ?? []);
  if (written.length > PAUSE_REQUESTS_MAX) {
    const most = `has ${written.length} entries, more than ${PAUSE_REQUESTS_MAX}`;
    problems.push(`data.pauseRequests: ${most}: remove those that have ended`);
  }
  return { requests: entries.flatMap(({ requests }) => requests), problems };
}

/**
 * A request as far as it can be read: invalid parts are unset and it still freezes, and without a valid policy it
 * freezes all nodes.
 */
function readEntry(entry: unknown, index: number) {
  const where = `data.pauseRequests[${index}]`;
  const { policy, ...rest } = recordOf(entry);
  const { problem, entries } = readablePauseRequest(rest, where);
  const scope = policy === undefined ? EVERYWHERE : textOf(policy);
  const requests = entries.map((request) => ({ scope: scope ?? EVERYWHERE, request }));
  return { problem: scope === null ? `${where}.policy: write the name of a policy` : problem, requests };
}

/** Most requests of one policy, or of all nodes, that are published. */
const REQUESTS_MAX = 16;
/** Most characters of a name or a reason. */
const TEXT_CHARACTERS_MAX = 128;
/** Most characters of all of them: with the longest spec, or the names of all policies, they fit into one message. */
const CHARACTERS_MAX = 2 * 1024;

/** The newest of the requests that have not ended, with short texts. */
export function publishedRequests(requests: readonly PauseRequestSpec[], nowAt: number): PauseRequestSpec[] {
  const running = requests.filter(({ until }) => (epochMsOf(until) ?? Number.POSITIVE_INFINITY) > nowAt);
  const newest = running.slice(-REQUESTS_MAX).map(shortened);
  while (newest.length > 1 && JSON.stringify(newest).length > CHARACTERS_MAX) newest.shift();
  return newest;
}

function shortened({ name, reason, ...instants }: PauseRequestSpec): PauseRequestSpec {
  const short = (text: string): string => text.slice(0, TEXT_CHARACTERS_MAX);
  return { name: short(name), ...(reason === undefined ? {} : { reason: short(reason) }), ...instants };
}
