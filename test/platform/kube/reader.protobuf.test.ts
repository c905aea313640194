/** The reader with a server that answers in protobuf, well-formed or not. */
import { beforeEach, expect, test } from "vitest";
import { metricValue } from "../../support/metric-value.ts";
import { encode, encodedList, enveloped, TABLES } from "./protobuf-encoder.ts";
import { list, node, ReaderStage } from "./reader-stage.ts";

const PROTOBUF = { "content-type": "application/vnd.kubernetes.protobuf" };
const BAD = Buffer.from("this is no protobuf");

let stage: ReaderStage;
beforeEach(() => {
  stage = new ReaderStage();
});

const unreadable = (field: string): Promise<number> =>
  metricValue(stage.metrics, "vigil_kube_unreadable_total", { resource: "nodes", field });

test("a list accepts protobuf and JSON; a watch accepts JSON", () => {
  stage.wire.next().answer(200, encodedList("Node", { items: [] }), PROTOBUF);
  expect(stage.wire.requests.map(({ request }) => request.headers.accept)).toEqual([
    "application/vnd.kubernetes.protobuf, application/json;q=0.9",
    "application/json",
  ]);
});

test("a list in pages is published like one in JSON", () => {
  stage.wire.next().answer(200, encodedList("Node", { next: "more", items: [node("a", "1")] }), PROTOBUF);
  const second = stage.wire.next();
  expect(second.query.get("continue")).toBe("more");
  second.answer(200, encodedList("Node", { resourceVersion: "12", items: [node("b", "2")] }), PROTOBUF);
  expect(stage.wire.next().query.get("resourceVersion")).toBe("12");
  expect(stage.seen.story).toEqual(["changed a", "changed b", "synced"]);
  expect(stage.seen.present.get("b")).toMatchObject({ node: "b", resourceVersion: "2" });
});

test("a refusal in protobuf is decoded", () => {
  const refusal = (status: object) => enveloped("Status", encode(status, TABLES.Status));
  stage.wire.next().answer(410, refusal({ message: "too old", reason: "Expired", code: 410 }), PROTOBUF);
  stage.clock.advance(200);
  // The continue token expired: the list is repeated without pages.
  const again = stage.wire.next();
  expect(again.query.get("limit")).toBeNull();
  again.answer(429, refusal({ reason: "TooManyRequests", code: 429, details: { retryAfterSeconds: 7 } }), PROTOBUF);
  stage.clock.advance(6_999);
  expect(stage.wire.waiting).toBe(0);
  stage.clock.advance(1);
  expect(stage.wire.waiting).toBe(1);
});

test("an unreadable refusal is still a refusal", () => {
  stage.wire.next().answer(403, BAD, PROTOBUF);
  stage.clock.advance(200);
  expect(stage.wire.waiting).toBe(1);
});

test.each([
  ["is none", (): Uint8Array => BAD],
  ["is cut off", (): Uint8Array => encodedList("Node", { items: [node("a", "1")] }).subarray(0, -20)],
])("a list in protobuf that %s is refused and counted, and asked for again as JSON", async (_what, body) => {
  stage.wire.next().answer(200, body(), PROTOBUF);
  expect(stage.seen.story).not.toContain("synced");
  expect(await unreadable("list")).toBe(1);
  stage.clock.advance(200);
  const again = stage.wire.next();
  expect(again.request.headers.accept).toBe("application/json");
  again.answer(200, list("10", [node("a", "1")]));
  expect(stage.seen.story.at(-1)).toBe("synced");
});
