/** Sentences about the last request for a node or a pod: its outcome with the reason, and the next retry. */
import type { Outcome } from "../../../protocols/done.ts";
import { apiTime } from "../../domain/api-time.ts";
import { type NamedText, spanText } from "../../domain/format.ts";
import type { RequestOutcome, TrackedRequest } from "../state/node-requests.ts";
import type { ExplainContext } from "./explain-context.ts";
import { quotedText } from "./quoted-text.ts";
import { type Sentence, type SentenceName, sentence } from "./sentences.ts";

type OutcomeSentence = Extract<SentenceName, `request${string}`>;

const BY_OUTCOME: Readonly<Record<Outcome, Exclude<OutcomeSentence, "requestOpen">>> = {
  ok: "requestWritten",
  conflict: "requestConflict",
  gone: "requestGone",
  refused: "requestRefused",
  throttled: "requestThrottled",
  denied: "requestDenied",
  failed: "requestFailed",
  unknown: "requestUnknown",
  shadowed: "requestShadowed",
};

/** Outcomes after which nothing is retried. */
const SETTLED: ReadonlySet<Outcome> = new Set<Outcome>(["ok", "gone", "shadowed"]);

/** Whether the last try of a request failed. */
export function hasFailed({ last }: Pick<TrackedRequest, "last">): boolean {
  return last !== null && !SETTLED.has(last.outcome);
}

/**
 * The sentences about the open requests of a node. A request that was not repeated for twice the longest retry interval
 * is obsolete.
 */
export function nodeRequestSentences(requests: readonly TrackedRequest[], context: ExplainContext): Sentence[] {
  const { profile, now } = context;
  return requests
    .filter(({ askedAt, last }) => now - Math.max(askedAt, last?.at ?? askedAt) < 2 * profile.askRetryMaxMs)
    .flatMap((request) => requestSentences(request, context));
}

/** The sentences about a request: its last outcome and its next retry. */
export function requestSentences(request: TrackedRequest, context: ExplainContext): Sentence[] {
  const { what, node, askedAt, last } = request;
  if (last === null) return [sentence("requestOpen", { what, at: apiTime(askedAt) })];
  const detail = detailText(last.detail, context, node);
  const outcome = sentence(BY_OUTCOME[last.outcome], { what, at: apiTime(last.at), detail });
  return SETTLED.has(last.outcome) ? [outcome] : [outcome, retrySentence(request, last, context)];
}

/** How the last try of a request failed; nothing if it has not. */
export function failureSentences(request: TrackedRequest, context: ExplainContext): Sentence[] {
  return hasFailed(request) ? requestSentences(request, context).slice(0, 1) : [];
}

function retrySentence(
  { taintChange }: TrackedRequest,
  { retryAt, retrying }: RequestOutcome,
  { profile, now }: ExplainContext,
): Sentence {
  if (retrying && retryAt !== null)
    return retryAt > now ? sentence("retryAt", { at: apiTime(retryAt) }) : sentence("retrySoon", {});
  if (retrying) return sentence("retrySoon", {});
  // After a grant only the zone repeats it.
  return taintChange?.why === "granted"
    ? sentence("retryGrant", {})
    : sentence("retryRequested", { span: spanText(profile.askRetryMaxMs) });
}

/** A reason without its final full stop. Its names are those of nodes that exist, and of `node`. */
export function detailText(detail: string, { state }: Pick<ExplainContext, "state">, node?: string): NamedText {
  const nodes = { has: (name: string) => name === node || state.nodes.has(name) };
  return quotedText(detail === "" ? "no reason was given" : detail.replace(/\.$/, ""), nodes);
}
