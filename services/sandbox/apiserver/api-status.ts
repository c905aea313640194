/** API failures: Status objects with the codes, reasons and messages of the real server. */
import type { JsonObject } from "./api-objects.ts";
import type { Resource } from "./resources.ts";
import type { FieldProblem } from "./validation/problems.ts";

/** The resource that a failure is about. */
export type Subject = Pick<Resource, "group" | "kind" | "plural">;

/** A refused request: thrown anywhere below the router, which responds with a Status object. */
export class ApiFailure extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details?: JsonObject | undefined;

  constructor(failure: Pick<ApiFailure, "code" | "reason" | "message" | "details">) {
    super(failure.message);
    this.code = failure.code;
    this.reason = failure.reason;
    this.details = failure.details;
  }

  /** Seconds after which the client may retry; null if the server does not say. */
  get retryAfterSeconds(): number | null {
    const seconds = this.details?.retryAfterSeconds;
    return typeof seconds === "number" ? seconds : null;
  }

  /** The body of the response. */
  status(): JsonObject {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      ...(this.reason === "" ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** The qualified name: `leases.coordination.k8s.io`, or `nodes` in the core group. */
function qualifiedName(subject: Subject): string {
  return subject.group === "" ? subject.plural : `${subject.plural}.${subject.group}`;
}

function namedDetails(subject: Subject, name: string): JsonObject {
  return { name, ...groupOf(subject), kind: subject.plural };
}

/** 404: no such object. */
export function notFound(subject: Subject, name: string): ApiFailure {
  const message = `${qualifiedName(subject)} "${name}" not found`;
  return new ApiFailure({ code: 404, reason: "NotFound", message, details: namedDetails(subject, name) });
}

/** 404: no such path. */
export function noSuchPath(): ApiFailure {
  const message = "the server could not find the requested resource";
  return new ApiFailure({ code: 404, reason: "NotFound", message, details: {} });
}

/** 409: an object of that name exists, and is perhaps terminating. */
export function alreadyExists(subject: Subject, name: string, terminating: boolean): ApiFailure {
  const message = `${terminating ? "object is being deleted: " : ""}${qualifiedName(subject)} "${name}" already exists`;
  return new ApiFailure({ code: 409, reason: "AlreadyExists", message, details: namedDetails(subject, name) });
}

/** The message for a stale resourceVersion. */
export const STALE_VERSION =
  "the object has been modified; please apply your changes to the latest version and try again";

/** 409: the object has another uid or state than the request names. */
export function conflict(subject: Subject, name: string, why: string): ApiFailure {
  const message = `Operation cannot be fulfilled on ${qualifiedName(subject)} "${name}": ${why}`;
  return new ApiFailure({ code: 409, reason: "Conflict", message, details: namedDetails(subject, name) });
}

/** 403: the request is forbidden. */
export function forbidden(subject: Subject, name: string, why: string, causes: JsonObject[] = []): ApiFailure {
  const what = name === "" ? qualifiedName(subject) : `${qualifiedName(subject)} "${name}"`;
  const named = name === "" ? {} : { name };
  const details = { ...named, ...groupOf(subject), kind: subject.plural, ...(causes.length === 0 ? {} : { causes }) };
  return new ApiFailure({ code: 403, reason: "Forbidden", message: `${what} is forbidden: ${why}`, details });
}

function groupOf(subject: Subject): JsonObject {
  return subject.group === "" ? {} : { group: subject.group };
}

/** 422: the object is invalid; every problem is a cause. */
export function invalid(subject: Subject, name: string, problems: readonly FieldProblem[]): ApiFailure {
  const lines = [...new Set(problems.map((problem) => `${problem.field}: ${problem.message}`))];
  const summary = lines.length === 1 ? lines.join("") : `[${lines.join(", ")}]`;
  const kind = subject.group === "" ? subject.kind : `${subject.kind}.${subject.group}`;
  return new ApiFailure({
    code: 422,
    reason: "Invalid",
    message: `${kind} "${name}" is invalid: ${summary}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...groupOf(subject),
      kind: subject.kind,
      causes: problems.map((problem) => ({ reason: problem.type, message: problem.message, field: problem.field })),
    },
  });
}

/** 400: the request is malformed. */
export function badRequest(message: string): ApiFailure {
  return new ApiFailure({ code: 400, reason: "BadRequest", message });
}

/** 401: the token is missing or unknown. */
export function unauthorized(): ApiFailure {
  return new ApiFailure({ code: 401, reason: "Unauthorized", message: "Unauthorized" });
}

/** 405: the resource does not support this verb. */
export function methodNotAllowed(): ApiFailure {
  const message = "the server does not allow this method on the requested resource";
  return new ApiFailure({ code: 405, reason: "MethodNotAllowed", message, details: {} });
}

/** 415: the verb does not accept this content type. */
export function unsupportedMediaType(accepted: readonly string[]): ApiFailure {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`;
  return new ApiFailure({ code: 415, reason: "UnsupportedMediaType", message, details: {} });
}

/** 410: the requested resourceVersion has been compacted. */
export function gone(message: string): ApiFailure {
  return new ApiFailure({ code: 410, reason: "Expired", message });
}

/** 504: the requested resourceVersion is in the future. */
export function versionTooLarge(requested: number, current: number): ApiFailure {
  const message = `Too large resource version: ${requested}, current: ${current}`;
  return new ApiFailure({
    code: 504,
    reason: "Timeout",
    message: `Timeout: ${message}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
}
