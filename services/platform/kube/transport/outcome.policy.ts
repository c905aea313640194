/** Decides what an API server's answer means for a write, read or review. It sends and retries nothing. */
import type { KubeObject, ObjectRef, ReadReply, ReviewReply, WriteReply } from "../../../../protocols/ports.ts";
import { listOf, parsed, recordOf, textOf } from "../../../structures/json.ts";
import type { Answer } from "./call.ts";

/** A refusal (metav1.Status), with neutral values for absent fields. */
export interface Refusal {
  readonly status: number;
  /** Whether the body was a Status object, so that it comes from the API and not from a proxy before it. */
  readonly isStatus: boolean;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterMs: number | null;
  /** The fields that an Invalid names as its causes. */
  readonly fields: readonly unknown[];
}

type CompleteAnswer = Extract<Answer, { kind: "answer" }>;
type Throttled = Extract<ReadReply, { outcome: "throttled" }>;

/** Wait after a 429 or 503 without Retry-After; client-go waits a second too. */
const RETRY_AFTER_DEFAULT_MS = 1000;
/** Upper limit on a server's Retry-After. */
const RETRY_AFTER_MAX_MS = 60_000;
const DETAIL_LENGTH_MAX = 500;
/** How admission words a webhook's refusal, which may carry any status code (apiserver ToStatusErr). */
const WEBHOOK_DENIAL = /admission webhook ".*" denied the request/;

/** What the API server says in an answer that refuses a request. */
export function refusalOf(answer: CompleteAnswer): Refusal {
  const body = recordOf(parsed(answer.text));
  const details = recordOf(body.details);
  const isStatus = body.kind === "Status";
  const message = isStatus ? textOf(body.message) : null;
  return {
    status: answer.status,
    isStatus,
    reason: (isStatus ? textOf(body.reason) : null) ?? "",
    message: `${answer.status}: ${message ?? (answer.text.trim() || "no message")}`.slice(0, DETAIL_LENGTH_MAX),
    retryAfterMs: retryAfterMs(answer.headers["retry-after"], details.retryAfterSeconds),
    fields: listOf(details.causes).map((cause) => recordOf(cause).field),
  };
}

function retryAfterMs(header: string | undefined, seconds: unknown): number | null {
  const requested = header === undefined || header.trim() === "" ? seconds : Number(header);
  if (typeof requested !== "number" || !(requested >= 0)) return null;
  return Math.min(requested * 1000, RETRY_AFTER_MAX_MS);
}

/** Whether the requested resourceVersion or continue token has expired. */
export function isExpired(refusal: Refusal): boolean {
  return refusal.status === 410 || refusal.reason === "Expired" || refusal.reason === "Gone";
}

/** The outcome of a write. A JSON patch that does not apply to the present object is a conflict. */
export function writeReplyOf(answer: Answer, ref: ObjectRef, isJsonPatch = false): WriteReply {
  if (answer.kind === "lost") {
    const late = answer.isLate === true ? { isLate: true } : {};
    return { outcome: answer.sent ? "unknown" : "failed", detail: answer.message, ...late };
  }
  if (isSuccess(answer)) return writtenObject(answer, ref);
  const refusal = refusalOf(answer);
  const detail = refusal.message;
  const throttled = throttledBy(refusal);
  const disruptionBudget = disruptionBudgetOf(answer);
  if (throttled !== null && disruptionBudget !== null)
    return { ...throttled, detail: disruptionBudget, disruptionBudget };
  if (throttled !== null) return throttled;
  if (WEBHOOK_DENIAL.test(detail)) return { outcome: "denied", detail };
  // An invalid object names its fields; an inapplicable patch names none.
  const isInapplicable = isJsonPatch && refusal.status === 422 && refusal.fields.length === 0;
  if (isInapplicable) return { outcome: "conflict", detail };
  return { outcome: refusedWrite(refusal), detail };
}

function refusedWrite({
  status,
  isStatus,
  reason,
  fields,
}: Refusal): "conflict" | "exists" | "gone" | "denied" | "failed" | "unknown" {
  if (status === 409) return reason === "AlreadyExists" ? "exists" : "conflict";
  // A patch with another uid looks to the server like a change of an immutable field.
  if (status === 422 && fields.includes("metadata.uid")) return "conflict";
  if (status === 404 && isStatus) return "gone";
  if (status === 401 || status === 403 || status === 422) return "denied";
  // A gateway timed out: the write may still have happened.
  return status === 502 || status === 504 ? "unknown" : "failed";
}

function throttledBy(refusal: Refusal): Throttled | null {
  if (refusal.status !== 429 && refusal.status !== 503) return null;
  return {
    outcome: "throttled",
    detail: refusal.message,
    retryAfterMs: refusal.retryAfterMs ?? RETRY_AFTER_DEFAULT_MS,
  };
}

/** Why an API server names a disruption budget as the cause of a refusal (policyv1.DisruptionBudgetCause). */
const BUDGET_CAUSE = "DisruptionBudget";

/** What the server says about the disruption budget that refuses an eviction; null when none does. */
function disruptionBudgetOf({ status, text }: CompleteAnswer): string | null {
  if (status !== 429) return null;
  const causes = listOf(recordOf(recordOf(parsed(text)).details).causes).map(recordOf);
  const cause = causes.find(({ reason }) => reason === BUDGET_CAUSE);
  return cause === undefined ? null : (textOf(cause.message) ?? "a disruption budget");
}

/** Whether the server was overloaded. A disruption budget refuses with a 429 too, however idle the server is. */
export function isOverload(answer: Answer): boolean {
  if (answer.kind === "lost") return answer.timedOut;
  return answer.status === 429 && disruptionBudgetOf(answer) === null;
}

function writtenObject(answer: CompleteAnswer, ref: ObjectRef): WriteReply {
  const body = parsed(answer.text);
  if (body === undefined) return { outcome: "unknown", detail: `${answer.status}: the answer is not JSON` };
  // A final delete answers with a Status, which has no name.
  const object = isKubeObject(body) ? body : { metadata: { name: ref.name, namespace: ref.namespace } };
  return { outcome: "ok", object };
}

/** The outcome of a live read. A list has no name; it gets an empty one. */
export function readReplyOf(answer: Answer, isList = false): ReadReply {
  if (answer.kind === "lost") return { outcome: "failed", detail: answer.message };
  if (isSuccess(answer)) {
    const object = parsed(answer.text);
    if (isKubeObject(object)) return { outcome: "ok", object };
    if (isList && Array.isArray(recordOf(object).items)) {
      return { outcome: "ok", object: { ...recordOf(object), metadata: { name: "" } } };
    }
    return { outcome: "failed", detail: `${answer.status}: the answer is no object` };
  }
  const refusal = refusalOf(answer);
  const throttled = throttledBy(refusal);
  if (throttled !== null) return throttled;
  const detail = refusal.message;
  if (refusal.status === 404 && refusal.isStatus) return { outcome: "gone", detail };
  return { outcome: refusal.status === 401 || refusal.status === 403 ? "denied" : "failed", detail };
}

/** The outcome of a review. */
export function reviewReplyOf(answer: Answer): ReviewReply {
  if (answer.kind === "lost") return { outcome: "failed", detail: answer.message };
  if (!isSuccess(answer)) {
    const { status, message } = refusalOf(answer);
    return { outcome: status === 401 || status === 403 ? "denied" : "failed", detail: message };
  }
  const { status } = recordOf(parsed(answer.text));
  if (typeof status === "object" && status !== null) return { outcome: "ok", status: recordOf(status) };
  return { outcome: "failed", detail: `${answer.status}: the answer is no review` };
}

function isSuccess(answer: CompleteAnswer): boolean {
  return answer.status >= 200 && answer.status < 300;
}

function isKubeObject(value: unknown): value is KubeObject {
  return textOf(recordOf(recordOf(value).metadata).name) !== null;
}
