/**
 * Correlates repeated Events as client-go's recorder does (R12.2): combines similar ones, counts equal ones, and drops
 * too many about one object. It returns what to write and touches no clock or port.
 */
import { NAME_CHARACTERS_MAX } from "../../../../protocols/bounds.ts";
import { apiTime } from "../../../domain/api-time.ts";
import { BoundedMap } from "../../../structures/bounded-map.ts";
import { type BucketRate, type TokenBucket, tokensIn } from "../../../structures/token-bucket.ts";
import type { EventBody, EventPatch } from "../write/sent-bodies.ts";

/**
 * Events of one source about one object that may be written at once. Source: client-go tools/record, defaultSpamBurst.
 */
export const SPAM_BURST = 25;
/** How long until one more Event of that source and object is allowed. Source: defaultSpamQPS. */
export const SPAM_REFILL_MS = 300_000;
const SPAM_RATE: BucketRate = { perSecond: 1000 / SPAM_REFILL_MS, burst: SPAM_BURST };
/** Different messages of one kind from which they are combined. Source: defaultAggregateMaxEvents. */
export const SIMILAR_MAX = 10;
/** Similar Events further apart than this are not combined. Source: defaultAggregateIntervalInSeconds. */
export const SIMILAR_WITHIN_MS = 600_000;
/** Objects and kinds of Event kept. Source: maxLruCacheEntries. */
const REMEMBERED_MAX = 4096;
const NANOSECONDS_PER_MS = 1_000_000n;

/** The object an Event is about. */
export interface InvolvedObject {
  readonly apiVersion: string;
  readonly kind: "Node" | "Pod" | "NodePolicy";
  /** Empty for a node or a policy, whose Events go to namespace `default`. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** An occurrence to record, before correlation. */
export interface Occurrence {
  readonly involvedObject: InvolvedObject;
  readonly reason: string;
  readonly type: "Normal" | "Warning";
  readonly message: string;
  /** The source component, which dashboards select on. */
  readonly component: string;
  /** The host of the source, where it matters. */
  readonly host?: string;
}

/** An Event to write: a patch when it repeats an existing one, otherwise, or when that is gone, the whole object. */
export interface EventWrite {
  readonly namespace: string;
  readonly name: string;
  readonly whole: EventBody;
  readonly patch: EventPatch | null;
}

interface Similar {
  readonly messages: Set<string>;
  lastAt: number;
}

interface Series {
  readonly name: string;
  readonly firstAt: number;
  count: number;
}

/** The correlation state, bounded in size. */
export class EventCorrelator {
  readonly #similar = new BoundedMap<string, Similar>(REMEMBERED_MAX);
  readonly #series = new BoundedMap<string, Series>(REMEMBERED_MAX);
  readonly #buckets = new BoundedMap<string, TokenBucket>(REMEMBERED_MAX);
  #names = 0n;

  /** What to write for an occurrence at an epoch instant; null when its object has too many. */
  correlate(occurrence: Occurrence, at: number): EventWrite | null {
    const { component, involvedObject, type, reason } = occurrence;
    const object = Object.values({ component, ...involvedObject, resourceVersion: "" }).join("\n");
    const kind = `${object}\n${type}\n${reason}`;
    const combined = this.#isOneOfMany(kind, occurrence.message, at);
    const message = combined ? `(combined from similar events): ${occurrence.message}` : occurrence.message;
    const series = this.#count(combined ? kind : `${kind}\n${message}`, involvedObject.name, at);
    return this.#spend(object, at) ? eventOf({ ...occurrence, message }, series, at) : null;
  }

  #isOneOfMany(kind: string, message: string, at: number): boolean {
    const known = this.#similar.get(kind);
    const similar =
      known === undefined || at - known.lastAt > SIMILAR_WITHIN_MS
        ? { messages: new Set<string>(), lastAt: at }
        : known;
    similar.messages.add(message);
    similar.lastAt = at;
    this.#similar.set(kind, similar);
    if (similar.messages.size < SIMILAR_MAX) return false;
    similar.messages.delete(message);
    return true;
  }

  #count(key: string, objectName: string, at: number): Series {
    const series = this.#series.get(key) ?? { name: this.#nameFor(objectName, at), firstAt: at, count: 0 };
    series.count++;
    this.#series.set(key, series);
    return series;
  }

  /**
   * `<object>.<nanoseconds in hex>` (R12.1). A running number replaces the nanoseconds that a millisecond clock lacks.
   * The API rejects a name that is longer than one of an object, so a long one of the object is cut off.
   */
  #nameFor(objectName: string, at: number): string {
    this.#names = (this.#names + 1n) % NANOSECONDS_PER_MS;
    const instant = `.${(BigInt(Math.floor(at)) * NANOSECONDS_PER_MS + this.#names).toString(16)}`;
    return objectName.slice(0, NAME_CHARACTERS_MAX - instant.length).replace(/[.-]+$/, "") + instant;
  }

  #spend(object: string, at: number): boolean {
    const tokens = tokensIn(this.#buckets.get(object) ?? { tokens: SPAM_BURST, at }, SPAM_RATE, at);
    const isAllowed = tokens >= 1;
    this.#buckets.set(object, { tokens: isAllowed ? tokens - 1 : tokens, at });
    return isAllowed;
  }
}

function eventOf(occurrence: Occurrence, { name, firstAt, count }: Series, at: number): EventWrite {
  const { involvedObject, reason, type, message, component, host } = occurrence;
  const namespace = involvedObject.namespace || "default";
  const lastTimestamp = apiTime(at);
  const whole: EventBody = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    involvedObject: Object.fromEntries(Object.entries(involvedObject).filter(([, value]) => value !== "")),
    reason,
    message,
    source: { component, ...(host !== undefined && { host }) },
    firstTimestamp: apiTime(firstAt),
    lastTimestamp,
    count,
    type,
    reportingComponent: component,
    reportingInstance: host ?? "",
  };
  return { namespace, name, whole, patch: count === 1 ? null : { count, lastTimestamp, message } };
}
