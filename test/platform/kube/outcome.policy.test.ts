/** The meaning of every status and reason from a server, a webhook or a gateway. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ObjectRef } from "../../../protocols/ports.ts";
import type { Answer } from "../../../services/platform/kube/transport/call.ts";
import {
  isExpired,
  readReplyOf,
  refusalOf,
  writeReplyOf,
} from "../../../services/platform/kube/transport/outcome.policy.ts";

const ref: ObjectRef = { kind: "Pod", namespace: "ns", name: "p" };

function answer(
  status: number,
  body: unknown = {},
  headers: Record<string, string> = {},
): Extract<Answer, { kind: "answer" }> {
  return { kind: "answer", status, headers, text: typeof body === "string" ? body : JSON.stringify(body) };
}
const failure = (code: number, reason: string, message = "why", details: unknown = {}) =>
  answer(code, { kind: "Status", apiVersion: "v1", status: "Failure", reason, message, details, code });
const object = { kind: "Pod", metadata: { name: "p", resourceVersion: "2" } };
const denial = 'admission webhook "policy.example.com" denied the request: not today';

describe("a write", () => {
  test.each([
    ["200 with the object", answer(200, object), "ok"],
    ["201 with the object", answer(201, object), "ok"],
    ["409 Conflict", failure(409, "Conflict"), "conflict"],
    ["409 AlreadyExists", failure(409, "AlreadyExists"), "exists"],
    ["409 without a reason", answer(409, "conflict"), "conflict"],
    ["404 of the API", failure(404, "NotFound"), "gone"],
    ["404 of something before the API", answer(404, "<html>"), "failed"],
    ["401", failure(401, "Unauthorized"), "denied"],
    ["403 by RBAC", failure(403, "Forbidden"), "denied"],
    ["422", failure(422, "Invalid"), "denied"],
    ["422 for another uid", failure(422, "Invalid", "why", { causes: [{ field: "metadata.uid" }] }), "conflict"],
    ["a webhook's denial with 400", failure(400, "", denial), "denied"],
    ["a webhook's denial with 403", failure(403, "Forbidden", denial), "denied"],
    ["a webhook's denial with 404", failure(404, "NotFound", denial), "denied"],
    ["a webhook's denial with 409", failure(409, "Conflict", denial), "denied"],
    ["a webhook's 429", failure(429, "TooManyRequests", denial), "throttled"],
    ["429", failure(429, "TooManyRequests"), "throttled"],
    ["503", answer(503, "no endpoints"), "throttled"],
    ["500", failure(500, "InternalError"), "failed"],
    ["a webhook that cannot be called", failure(500, "InternalError", "failed calling webhook"), "failed"],
    ["400", failure(400, "BadRequest"), "failed"],
    ["502 of a gateway", answer(502, "bad gateway"), "unknown"],
    ["504", failure(504, "Timeout", "the request may have been applied"), "unknown"],
    ["200 that is cut off", answer(200, '{"kind":"Po'), "unknown"],
    ["a lost reply", { kind: "lost", message: "reset", sent: true, timedOut: false }, "unknown"],
    ["a refused connection", { kind: "lost", message: "refused", sent: false, timedOut: false }, "failed"],
  ] as const)("on %s has its outcome", (_what, given, outcome) => {
    expect(writeReplyOf(given, ref).outcome).toBe(outcome);
  });

  test("by a JSON patch conflicts if inapplicable, is denied if invalid", () => {
    const invalid = failure(422, "Invalid", "why", { causes: [{ field: "spec.taints" }] });
    expect(writeReplyOf(failure(422, "Invalid"), ref, true).outcome).toBe("conflict");
    expect(writeReplyOf(invalid, ref, true).outcome).toBe("denied");
    expect(writeReplyOf(failure(422, "Invalid", denial), ref, true).outcome).toBe("denied");
  });

  test("that is ok returns the object as the server has it", () => {
    expect(writeReplyOf(answer(200, object), ref)).toEqual({ outcome: "ok", object });
  });

  test("that deleted for good is ok with the requested name", () => {
    const status = answer(200, { kind: "Status", metadata: {}, status: "Success" });
    expect(writeReplyOf(status, ref)).toEqual({ outcome: "ok", object: { metadata: { name: "p", namespace: "ns" } } });
  });

  test("keeps the server's words, cut to a line's length", () => {
    expect(writeReplyOf(failure(403, "Forbidden", "no pods for you"), ref)).toEqual({
      outcome: "denied",
      detail: "403: no pods for you",
    });
    const reply = writeReplyOf(answer(500, "x".repeat(5000)), ref);
    expect(reply).toMatchObject({ detail: expect.stringMatching(/^500: x{100}/) });
    expect("detail" in reply && reply.detail.length).toBe(500);
  });
});

describe("a read", () => {
  test.each([
    ["200 with the object", answer(200, object), "ok"],
    ["200 without an object", answer(200, "ok"), "failed"],
    ["404 of the API", failure(404, "NotFound"), "gone"],
    ["404 of something before the API", answer(404, "<html>"), "failed"],
    ["401", failure(401, "Unauthorized"), "denied"],
    ["403", failure(403, "Forbidden"), "denied"],
    ["429", failure(429, "TooManyRequests"), "throttled"],
    ["504", failure(504, "Timeout"), "failed"],
    ["a lost reply", { kind: "lost", message: "reset", sent: true, timedOut: true }, "failed"],
  ] as const)("on %s has its outcome", (_what, given, outcome) => {
    expect(readReplyOf(given).outcome).toBe(outcome);
  });
});

describe("how long to wait", () => {
  const retryAfterMs = (header: string | undefined, details: unknown = {}) =>
    writeReplyOf(answer(429, { kind: "Status", details }, header === undefined ? {} : { "retry-after": header }), ref);

  test("is from Retry-After, else from the details, else a second", () => {
    expect(retryAfterMs("5", { retryAfterSeconds: 9 })).toMatchObject({ retryAfterMs: 5000 });
    expect(retryAfterMs(undefined, { retryAfterSeconds: 9 })).toMatchObject({ retryAfterMs: 9000 });
    expect(retryAfterMs(undefined)).toMatchObject({ retryAfterMs: 1000 });
    expect(retryAfterMs("0")).toMatchObject({ retryAfterMs: 0 });
  });

  test("is a second for a malformed value, and a minute at most", () => {
    for (const nonsense of ["soon", "-1", "NaN", "", " ", "Wed, 21 Oct 2026 07:28:00 GMT"]) {
      expect(retryAfterMs(nonsense)).toMatchObject({ retryAfterMs: 1000 });
    }
    expect(retryAfterMs("86400")).toMatchObject({ retryAfterMs: 60_000 });
  });
});

test.each([
  ["410 with its reason", true, failure(410, "Expired")],
  ["410 with the reason of older servers", true, failure(410, "Gone")],
  ["410 of something before the API", true, answer(410, "<html>")],
  ["an expired token under another code", true, failure(400, "Expired")],
  ["a version that is gone under another code", true, failure(400, "Gone")],
  ["any other refusal", false, failure(400, "BadRequest")],
  ["an overload", false, failure(429, "TooManyRequests")],
] as const)("on %s it is %s that the version or token asked for is no longer kept", (_what, expired, given) => {
  expect(isExpired(refusalOf(given))).toBe(expired);
});

test("no answer makes it throw", () => {
  const headers = fc.dictionary(fc.constantFrom("retry-after", "content-type"), fc.string());
  const body = fc.oneof(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999 }), body, headers, (status, content, received) => {
      const given = answer(status, content, received);
      expect(() => [writeReplyOf(given, ref), readReplyOf(given), refusalOf(given)]).not.toThrow();
    }),
  );
});
