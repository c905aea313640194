/**
 * What follows from a failure, as a preview says it and as the API then shows it, and how the two differ. It knows no
 * rule of Vigil.
 */
import type { Preview } from "../../../services/cli/preview/preview.ts";

/** What happens to a node or a pod, such as `zone-1-n1 is tainted`, and how long after the failure. */
export interface PreviewedEvent {
  readonly what: string;
  readonly afterMs: number;
  /** Set in a preview that knows only the earliest instant: the event may come later or not at all. */
  readonly isEarliest?: true;
}

/** How far from its preview an event may be: stamps of the API are whole seconds, and requests need a moment. */
const OFF_MS = 1_100;

/**
 * A verdict and the taint of another node that are so close may come in either order. The verdict may change the state
 * of their zone, and with it every later taint: with 3 of 6 nodes down the next one is tainted at once, with 4 of 6 not
 * before all six are down.
 */
const CLOSE_MS = 20;

/** The events by their kinds. */
export const eventOf = {
  unknown: (node: string): string => `${node} becomes Unknown`,
  tainted: (node: string): string => `${node} is tainted`,
  deleted: (pod: string): string => `${pod} is deleted`,
} as const;

/** The events that a preview names. In direct mode no node is tainted. */
export function previewedEvents({ nodes, pods }: Pick<Preview, "nodes" | "pods">, isDirect: boolean): PreviewedEvent[] {
  const named = [
    ...nodes.map(({ node, unknownAfterMs }) => [eventOf.unknown(node), unknownAfterMs] as const),
    ...(isDirect ? [] : nodes.map(({ node, admittedAfterMs }) => [eventOf.tainted(node), admittedAfterMs] as const)),
    ...pods
      .filter(({ earliestAfterMs }) => earliestAfterMs === undefined)
      .map(({ name, deletedAfterMs }) => [eventOf.deleted(name), deletedAfterMs] as const),
  ];
  const earliest = pods.flatMap(({ name, earliestAfterMs }) =>
    earliestAfterMs === undefined
      ? []
      : [{ what: eventOf.deleted(name), afterMs: earliestAfterMs, isEarliest: true as const }],
  );
  return [...named.flatMap(([what, afterMs]) => (afterMs === null ? [] : [{ what, afterMs }])), ...earliest];
}

/** The first difference between the events of a preview and those of the time until `untilMs`; null for none. */
export function previewProblem(
  previewed: readonly PreviewedEvent[],
  seen: readonly PreviewedEvent[],
  untilMs: number,
): string | null {
  const seenMs = new Map(seen.map(({ what, afterMs }) => [what, afterMs]));
  const undecidedMs = undecidedFromMs(previewed);
  const isUndecided = ({ what, afterMs }: PreviewedEvent): boolean => !isVerdict(what) && afterMs >= undecidedMs;
  for (const event of previewed) {
    const { what, afterMs, isEarliest = false } = event;
    if (isUndecided(event)) continue;
    const reallyMs = seenMs.get(what);
    if (isEarliest && (reallyMs === undefined || reallyMs >= afterMs - OFF_MS)) continue;
    if (reallyMs === undefined && afterMs < untilMs - OFF_MS)
      return `${what} after ${secondsOf(afterMs)}, as previewed, did not happen within ${secondsOf(untilMs)}`;
    if (reallyMs !== undefined && Math.abs(reallyMs - afterMs) > OFF_MS)
      return `${what} after ${secondsOf(reallyMs)}, and was previewed after ${secondsOf(afterMs)}`;
  }
  const named = new Set(previewed.map(({ what }) => what));
  const missed = seen.find((event) => !named.has(event.what) && !isUndecided(event));
  return missed === undefined ? null : `${missed.what} after ${secondsOf(missed.afterMs)}, which was not previewed`;
}

function isVerdict(what: string): boolean {
  return what.endsWith(eventOf.unknown(""));
}

/** From when on taints and deletions may be others than previewed; infinite where no order is a matter of chance. */
function undecidedFromMs(previewed: readonly PreviewedEvent[]): number {
  const isTaint = (what: string): boolean => what.endsWith(eventOf.tainted(""));
  const nodeOf = ({ what }: PreviewedEvent): string | undefined => what.split(" ")[0];
  const verdicts = previewed.filter(({ what }) => isVerdict(what));
  const isClose = (taint: PreviewedEvent) => (verdict: PreviewedEvent) =>
    nodeOf(verdict) !== nodeOf(taint) && Math.abs(verdict.afterMs - taint.afterMs) <= CLOSE_MS;
  const close = previewed.filter((event) => isTaint(event.what) && verdicts.some(isClose(event)));
  return Math.min(...close.map(({ afterMs }) => afterMs - CLOSE_MS));
}

function secondsOf(spanMs: number): string {
  return `${(spanMs / 1000).toFixed(1)} s`;
}
