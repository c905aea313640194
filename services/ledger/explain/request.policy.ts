/** What is said of the last request about a node or a pod: by its outcome, as the API server gave the reason. */
import type { Outcome } from "../../../protocols/done.ts";
import { apiTime } from "../../domain/api-time.ts";
import { spanText } from "../../domain/format.ts";
import type { RequestOutcome, TrackedRequest } from "../node-requests.ts";
import type { ExplainContext } from "./explain-context.ts";
import { type Sentence, type SentenceName, sentence } from "./sentences.ts";

/** A request, as far as a sentence needs it. */
export interface ExplainedRequest {
  /** `Ready=Unknown`, `its deletion`. */
  readonly what: string;
  readonly askedAt: number;
  readonly last: RequestOutcome | null;
  /** Whether only the zone repeats it. */
  readonly isGrant: boolean;
}

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

/** Outcomes after which nothing is left to try, or only what changes can make it be tried. */
const SETTLED: ReadonlySet<Outcome> = new Set<Outcome>(["ok", "gone", "shadowed"]);

/** Whether the last try of a request came to nothing. */
export function hasFailed({ last }: Pick<ExplainedRequest, "last">): boolean {
  return last !== null && !SETTLED.has(last.outcome);
}

/**
 * The sentences about the requests of a node that stand. One that neither its writer nor its asker has spoken of for
 * two of the longest pauses is not wanted any more.
 */
export function nodeRequestSentences(requests: readonly TrackedRequest[], context: ExplainContext): Sentence[] {
  const { profile, now } = context;
  return requests
    .filter(({ askedAt, last }) => now - Math.max(askedAt, last?.at ?? askedAt) < 2 * profile.askRetryMaxMs)
    .flatMap(({ what, ask, askedAt, last }) =>
      requestSentences({ what, askedAt, last, isGrant: ask?.why === "granted" }, context),
    );
}

/** The sentences about a request: its last outcome and its next try. */
export function requestSentences(request: ExplainedRequest, context: ExplainContext): Sentence[] {
  const { what, askedAt, last } = request;
  if (last === null) return [sentence("requestOpen", { what, at: apiTime(askedAt) })];
  const detail = withoutStop(last.detail);
  const said = sentence(BY_OUTCOME[last.outcome], { what, at: apiTime(last.at), detail });
  return SETTLED.has(last.outcome) ? [said] : [said, nextTry(request, last, context)];
}

function nextTry(
  { isGrant }: ExplainedRequest,
  { retryAt, retrying }: RequestOutcome,
  { profile, now }: ExplainContext,
): Sentence {
  if (retrying && retryAt !== null)
    return retryAt > now ? sentence("retryAt", { at: apiTime(retryAt) }) : sentence("retrySoon", {});
  if (retrying) return sentence("retrySoon", {});
  return isGrant ? sentence("retryGrant", {}) : sentence("retryRequested", { span: spanText(profile.askRetryMaxMs) });
}

/** A reason without its last full stop; an API server that gives none is quoted so. */
export function withoutStop(detail: string): string {
  return detail === "" ? "no reason was given" : detail.replace(/\.$/, "");
}
