/** Which requests about a node are for the same change: what they are based on does not count. */
import { expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { isRepeated, isSameChange, type NodeRequest } from "../../services/node-writer/node-write-attempt.ts";

/** Every field of a request, with a value that differs from the one in `BASE`. */
type Others<T extends NodeRequest["type"]> = Required<Omit<BodyOf<T>, "node">>;

const IDENTITY = { node: "node-1", uid: "u", resourceVersion: "1" };
const BASE = {
  "asked.condition": { ...IDENTITY, basis: { leaseRenewedAt: 1, statusHeartbeatAt: 1 }, conditions: [] },
  "asked.label": { ...IDENTITY, labels: {} },
  "asked.taint": { ...IDENTITY, taints: [], add: [], remove: [], ready: null, why: "granted" },
} as const satisfies { [T in NodeRequest["type"]]: unknown };
const TAINT = { key: "k", effect: "NoExecute" };
const OTHERS: { readonly [T in NodeRequest["type"]]: Others<T> } = {
  "asked.condition": {
    uid: "v",
    resourceVersion: "2",
    basis: { leaseRenewedAt: 2, statusHeartbeatAt: 1 },
    conditions: [{ type: "Ready", status: "Unknown", reason: "r", message: "m", heartbeatAt: null }],
  },
  "asked.label": { uid: "v", resourceVersion: "2", labels: { a: "b" }, annotations: { c: null }, taints: [TAINT] },
  "asked.taint": {
    uid: "v",
    resourceVersion: "2",
    taints: [TAINT],
    taintsOmitted: 1,
    taintSwap: { at: 1, firstKey: "k", firstAt: 0, secondAt: 1 },
    taintsSeenAt: { "k:NoExecute": 5 },
    add: [TAINT],
    remove: [TAINT],
    ready: "True",
    outOfService: { provedAt: 1, leaseRenewedAt: null },
    why: "healing",
  },
};
/** The fields that only say what the change is based on. */
const BASIS = new Set(["resourceVersion", "basis", "taints", "taintsOmitted", "taintSwap", "taintsSeenAt"]);

const cases = Object.entries(OTHERS).flatMap(([type, others]) =>
  Object.entries(others).map(([field, value]) => [type as NodeRequest["type"], field, value] as const),
);

function request(type: NodeRequest["type"], changed: object): NodeRequest {
  return { type, id: "1", ageMs: 0, body: { ...BASE[type], ...changed } } as NodeRequest;
}

test.each(cases)("%s with another %s is another change unless that is its basis", (type, field, value) => {
  const [ask, earlier] = [request(type, { [field]: value }), request(type, {})];
  expect([isSameChange(ask, ask), isSameChange(ask, earlier)]).toEqual([true, BASIS.has(field)]);
});

test("a request on another version repeats none", () => {
  expect(isRepeated(request("asked.label", { resourceVersion: "2" }), request("asked.label", {}))).toBe(false);
  expect(isRepeated(request("asked.label", {}), request("asked.label", {}))).toBe(true);
});
