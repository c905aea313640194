/** Reviews of tokens and permissions on a scripted wire: requests, order and outcomes. */
import { expect, test } from "vitest";
import { type ObjectRef, type ReviewReply, Urgency } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { ScriptedWire } from "./scripted-wire.ts";

const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const node = (name: string): ObjectRef => ({ kind: "Node", namespace: "", name });

function stage(writesInFlightMax = STANDARD_PROFILE.writesInFlightMax) {
  const wire = new ScriptedWire();
  const io = { wire, clock: new VirtualClock(), random: () => 0.5, log: silentLog, metrics: createMetrics() };
  return { wire, kube: createKube({ ...io, profile: { ...STANDARD_PROFILE, writesInFlightMax } }) };
}

test("a review is created under the group and version of its kind", () => {
  const { wire, kube } = stage();
  kube.review("TokenReview", { token: "t" }, () => {});
  const { method, path, request } = wire.next();
  expect([method, path]).toEqual(["POST", TOKEN_REVIEWS]);
  expect(JSON.parse(request.body ?? "")).toEqual({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token: "t" },
  });
});

test("reviews go one at a time, after writes to the cluster and before Events", () => {
  const { wire, kube } = stage(1);
  const write = (name: string, urgency: Urgency) =>
    kube.write({ ref: node(name), urgency, verb: "patch", patch: "merge", body: {} }, () => {});
  write("first", Urgency.healing);
  kube.review("TokenReview", {}, () => {});
  kube.review("SubjectAccessReview", {}, () => {});
  write("event", Urgency.event);
  write("eviction", Urgency.eviction);
  const order: string[] = [];
  while (wire.waiting > 0) {
    const next = wire.next();
    order.push(next.path.replace("/api/v1/nodes/", ""));
    next.answer(200, { status: {} });
  }
  expect(order).toEqual(["first", "eviction", TOKEN_REVIEWS, ACCESS_REVIEWS, "event"]);
});

test("a second review waits for the first under any limit", () => {
  const { wire, kube } = stage();
  for (let count = 0; count < 2; count++) kube.review("TokenReview", {}, () => {});
  expect(wire.requests.length).toBe(1);
  wire.next().answer(201, { status: {} });
  expect(wire.requests.length).toBe(2);
});

test.each([
  [201, { status: { authenticated: true } }, { outcome: "ok", status: { authenticated: true } }],
  [201, {}, { outcome: "failed", detail: "201: the answer is no review" }],
  [403, { kind: "Status", message: "no" }, { outcome: "denied", detail: "403: no" }],
  [401, { kind: "Status", message: "who" }, { outcome: "denied", detail: "401: who" }],
  [500, { kind: "Status", message: "oops" }, { outcome: "failed", detail: "500: oops" }],
])("an answer %i with %j comes to %j", (status, body, expected) => {
  const { wire, kube } = stage();
  const replies: ReviewReply[] = [];
  kube.review("TokenReview", {}, (reply) => replies.push(reply));
  wire.next().answer(status, body);
  expect(replies).toEqual([expected]);
});
