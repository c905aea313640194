/**
 * The last hours at a glance: verdicts, recoveries and evictions by minute, the states of every zone, and when another
 * process took a zone over. It begins with its process, and it is bounded.
 */
import type { TimelineMinute, TimelineReport, ZoneBand } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf, Message } from "../../../protocols/messages.ts";
import { zoneTitleOf } from "../../domain/zone-key.ts";
import type { ClusterState } from "../state/cluster-state.ts";
import { isFirstDeletion } from "../state/pod-records.ts";

/** The width of a bar, in milliseconds. */
const MINUTE_MS = 60_000;
/** How far back it goes. */
export const TIMELINE_MS = 6 * 60 * MINUTE_MS;
/** A zone that flaps keeps its latest changes. */
const CHANGES_PER_ZONE_MAX = 200;
/** Zones that vanish leave their past here for a while; a hostile process cannot fill the memory with names. */
const ZONES_MAX = 256;

type Counts = Omit<TimelineMinute, "at">;
type Zone = Omit<ZoneBand, "title"> & { owner: string; readonly states: { at: number; state: string }[] } & {
  readonly takeovers: number[];
};

/** What happened in the last hours. Instants are of the ledger's clock, in epoch milliseconds. */
export class Timeline {
  /** Moves back with the clock: a start in the future would hide all that happens until then. */
  #startedAt: number;
  readonly #minutes = new Map<number, Counts>();
  readonly #zones = new Map<string, Zone>();

  constructor(startedAt: number) {
    this.#startedAt = startedAt;
  }

  /** Counts what a message reports, given the state before it. */
  onMessage(message: AnyMessage, before: ClusterState, nowAt: number): void {
    this.#startedAt = Math.min(this.#startedAt, nowAt);
    if (message.type === "judged.node") this.#onNode(message.body, before, nowAt);
    else if (message.type === "judged.zone") this.#onZone(message, nowAt);
    else if (message.type === "done.write" && isFirstDeletion(message.body, before.pods))
      this.#count("evictions", nowAt);
  }

  /** The present picture. */
  report(nowAt: number): Omit<TimelineReport, "leads"> {
    this.#startedAt = Math.min(this.#startedAt, nowAt);
    const fromAt = Math.max(this.#startedAt, nowAt - TIMELINE_MS);
    const minutes = [...this.#minutes]
      .filter(([at]) => at + MINUTE_MS > fromAt && at <= nowAt)
      .map(([at, counts]) => ({ at, ...counts }));
    const zones = [...this.#zones].map(([zone, { states, takeovers }]): ZoneBand => {
      const first = states.findLastIndex(({ at }) => at <= fromAt);
      const shown = { states: states.slice(Math.max(0, first)), takeovers: takeovers.filter((at) => at >= fromAt) };
      return { title: zoneTitleOf(zone), ...shown };
    });
    zones.sort((left, right) => left.title.localeCompare(right.title, "en"));
    return { fromAt, at: nowAt, minutes, zones };
  }

  /** A judgement that is only published again, or found at the start, is no event. */
  #onNode({ node, uid, readiness, since }: BodyOf<"judged.node">, before: ClusterState, nowAt: number): void {
    const record = before.nodes.get(node);
    const known = record?.uid === uid ? (record.judged?.readiness ?? null) : null;
    if (known === readiness || (known === null && since < this.#startedAt)) return;
    if (readiness === "unknown") this.#count("verdicts", nowAt);
    else if (readiness === "ready" && (known === "unknown" || known === "notReady")) this.#count("recoveries", nowAt);
  }

  #onZone({ source, body }: Message<"judged.zone">, nowAt: number): void {
    const { zone, state } = body;
    let known = this.#zones.get(zone);
    if (known === undefined) {
      if (this.#zones.size >= ZONES_MAX) return;
      known = { owner: source, states: [], takeovers: [] };
      this.#zones.set(zone, known);
    }
    if (known.states.at(-1)?.state !== state) append(known.states, { at: nowAt, state });
    if (known.owner !== source) append(known.takeovers, nowAt);
    known.owner = source;
  }

  #count(what: keyof Counts, nowAt: number): void {
    const at = nowAt - (nowAt % MINUTE_MS);
    const counts = this.#minutes.get(at) ?? { verdicts: 0, recoveries: 0, evictions: 0 };
    this.#minutes.set(at, { ...counts, [what]: counts[what] + 1 });
    for (const old of this.#minutes.keys()) {
      if (old + MINUTE_MS > nowAt - TIMELINE_MS) break;
      this.#minutes.delete(old);
    }
  }

  /** Forgets a zone that has vanished. */
  drop(zone: string): void {
    this.#zones.delete(zone);
  }
}

function append<T>(row: T[], item: T): void {
  row.push(item);
  if (row.length > CHANGES_PER_ZONE_MAX) row.shift();
}
