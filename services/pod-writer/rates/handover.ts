/**
 * What an owner of the rates hands over to the next one in the Lease that it releases: the pods that count against each
 * rate, and the pods that wait. It is a text of JSON. Instants are handed over as durations from the release, so no two
 * clocks are compared. Example: a pod that counts for 40 s more at the release counts for 40 s after the next owner
 * acquires the Lease.
 */
import { instant, name as nameSchema } from "../../../protocols/bounds.ts";
import type { Bounds } from "../../../protocols/profile.ts";
import { listOf, parsed, recordOf, textOf } from "../../structures/json.ts";
import { type CountedPod, PERMIT_ENDS_MS, WINDOW_MS } from "./eviction-window.ts";
import type { HandedOverPod } from "./waiting-pods.ts";

/** How long a pod counts at most, rounded up, in milliseconds. */
const COUNTED_MAX_MS = PERMIT_ENDS_MS + WINDOW_MS + 1;

/** The rate of one policy; instants are on the monotonic clock of the process. */
export interface HandedOverRate {
  readonly policy: string;
  /** Since when its evictions are counted completely. */
  readonly countedMs: number;
  readonly counted: readonly CountedPod[];
  /** In order. */
  readonly waiting: readonly HandedOverPod[];
}

/**
 * The text for the next owner. It contains the first of the pods that wait; the others are requested again in time. If
 * it would be too long, it contains none of them. If it is still too long, it is empty, and the next owner waits as
 * after a crash.
 */
export function handoverText(
  rates: readonly HandedOverRate[],
  { handedOverPodsMax, handoverCharactersMax }: Pick<Bounds, "handedOverPodsMax" | "handoverCharactersMax">,
  nowMs: number,
): string {
  const entries = rates.map(({ policy, countedMs, counted, waiting }) => ({
    policy,
    countedForMs: nowMs - countedMs,
    counted: counted.map(({ namespace, untilMs }) => [namespace, Math.ceil(untilMs - nowMs)]),
    waiting: waiting.slice(0, handedOverPodsMax).map(({ uid, namespace, node, deadlineAt, rankAt }) => {
      return [uid, namespace, node, deadlineAt, rankAt];
    }),
  }));
  const texts = [entries, entries.map((entry) => ({ ...entry, waiting: [] }))].map((each) => JSON.stringify(each));
  return texts.find((text) => text.length <= handoverCharactersMax) ?? "";
}

/**
 * The rates in a text, which any user may have edited. One that no owner could have written is left out, so that its
 * policy counts as uncounted; so is a pod that waits, because it would make the messages about its policy malformed.
 */
export function handedOver(text: string, nowMs: number): readonly HandedOverRate[] {
  return listOf(parsed(text)).flatMap((raw) => {
    const { policy, countedForMs, counted, waiting } = recordOf(raw);
    const name = textOf(policy);
    const pods = listOf(counted).map((each) => countedPodOf(each, nowMs));
    const known = pods.filter((pod) => pod !== null);
    const isCounted = isNumber(countedForMs) && countedForMs >= 0 && Array.isArray(counted);
    if (name === null || !isCounted || known.length < pods.length) return [];
    const waits = listOf(waiting).flatMap((each) => waitingPodOf(each, name) ?? []);
    return [{ policy: name, countedMs: nowMs - countedForMs, counted: known, waiting: waits }];
  });
}

function countedPodOf(raw: unknown, nowMs: number): CountedPod | null {
  const [namespace, forMs] = listOf(raw);
  if (typeof namespace !== "string" || !isNumber(forMs) || forMs > COUNTED_MAX_MS) return null;
  return { namespace, untilMs: nowMs + forMs };
}

function waitingPodOf(raw: unknown, policy: string): HandedOverPod | null {
  const [uid, namespace, node, deadlineAt, rankAt] = listOf(raw);
  if (!isName(uid) || !isName(namespace) || !isName(node) || !isInstant(deadlineAt) || !isInstant(rankAt)) return null;
  return { uid, namespace, node, policy, deadlineAt, rankAt };
}

function isName(value: unknown): value is string {
  return nameSchema.safeParse(value).success;
}

function isInstant(value: unknown): value is number {
  return instant.safeParse(value).success;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
