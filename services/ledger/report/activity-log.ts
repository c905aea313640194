/** Logs activities, with the evictions of one node and reason within a second in one line. */
import type { Decision } from "../../../protocols/ledger-reader.ts";
import type { Clock, Log } from "../../../protocols/ports.ts";
import { type Activity, type ActivityLine, type EvictedPod, evictedLine } from "./activity.policy.ts";

/** How long evictions of a node are gathered. */
const FOLD_MS = 1000;
/** What shadow mode logs besides: countdowns, and writes that were not sent. */
const UNSENT_TYPES: ReadonlySet<string> = new Set(["judged.pod", "done.write"]);

/** Writes activities to a log. */
export class ActivityLog {
  readonly #log: Log;
  readonly #clock: Clock;
  /** Evictions by node and reason, with the end of their second. */
  readonly #folds = new Map<string, { readonly pods: [EvictedPod, ...EvictedPod[]]; readonly end: () => void }>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  record(activity: Activity): void {
    if ("line" in activity) {
      this.#write(activity.line);
      return;
    }
    const { evicted } = activity;
    const key = `${evicted.node} ${evicted.reason}`;
    const fold = this.#folds.get(key);
    if (fold !== undefined) fold.pods.push(evicted);
    else this.#open(key, evicted);
  }

  /**
   * Logs what has no effect in shadow mode once, because the message is repeated until another controller makes the
   * change.
   */
  recordUnsent({ type, object: { kind, namespace, name }, text, times }: Decision): void {
    if (times > 1 || !UNSENT_TYPES.has(type)) return;
    this.#log.info(`${kind.toLowerCase()} ${namespace === "" ? name : `${namespace}/${name}`} ${text}`);
  }

  /** Logs what is gathered. */
  stop(): void {
    for (const { end } of this.#folds.values()) end();
  }

  #open(key: string, first: EvictedPod): void {
    const pods: [EvictedPod, ...EvictedPod[]] = [first];
    const end = (): void => {
      timer.cancel();
      this.#folds.delete(key);
      this.#write(evictedLine(pods));
    };
    const timer = this.#clock.after(FOLD_MS, end);
    this.#folds.set(key, { pods, end });
  }

  #write({ text, fields }: ActivityLine): void {
    this.#log.info(text, { ...fields });
  }
}
