/** Single-flight reads: one for all callers of an object, in order, within a limit on callers. */
import { expect, test } from "vitest";
import { type ObjectRef, type ReadPlace, type ReadReply, Urgency } from "../../../protocols/ports.ts";
import { SingleFlightReads } from "../../../services/platform/requests/single-flight-reads.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

const KEPT_MS = 500;
const PLACE: ReadPlace = { urgency: Urgency.readiness, stepsBefore: 1 };

function node(name: string): ObjectRef {
  return { kind: "Node", namespace: "", name };
}

/** Reads that the test answers. */
function readsWith(waitersMax: number) {
  const clock = new VirtualClock();
  const requests: { name: string; answer: (outcome: "ok" | "gone") => void }[] = [];
  const receive = ({ name }: ObjectRef, done: (reply: ReadReply) => void): void => {
    const replies = { ok: { outcome: "ok", object: { metadata: { name } } }, gone: { outcome: "gone", detail: "" } };
    requests.push({ name, answer: (outcome) => done(replies[outcome] as ReadReply) });
  };
  let projections = 0;
  const project = ({ outcome }: ReadReply): string => {
    projections++;
    return outcome;
  };
  const shared = new SingleFlightReads({ project, kube: { read: receive }, clock, keptMs: KEPT_MS, waitersMax });
  const results: string[] = [];
  const read = (name: string, place = PLACE, sentSinceMs?: number): void => {
    shared.read(
      node(name),
      ({ found, readAtMs }) => results.push(`${name} ${found} at ${readAtMs}`),
      place,
      sentSinceMs,
    );
  };
  const names = () => requests.map(({ name }) => name);
  return { clock, requests, names, results, read, projections: () => projections };
}

test("one read serves all callers of the same object and is projected once", () => {
  const { requests, results, read, projections } = readsWith(1);
  read("a");
  read("a");
  requests[0]?.answer("gone");
  expect(requests).toHaveLength(1);
  expect(results).toEqual(["a gone at 0", "a gone at 0"]);
  expect(projections()).toBe(1);
});

test("a read that found its object also serves callers soon after", () => {
  const { clock, requests, results, read } = readsWith(1);
  read("a");
  requests[0]?.answer("ok");
  clock.advance(KEPT_MS - 1);
  read("a");
  clock.advance(0);
  expect(results).toEqual(["a ok at 0", "a ok at 0"]);
  clock.advance(1);
  read("a");
  expect(requests).toHaveLength(2);
});

test("a caller that needs a newer read than the one kept or running gets its own", () => {
  const { clock, requests, results, read } = readsWith(2);
  read("a");
  clock.advance(10);
  read("a", PLACE, 10);
  read("a", PLACE, 10);
  expect(requests).toHaveLength(2);
  requests[1]?.answer("ok");
  clock.advance(5);
  requests[0]?.answer("ok");
  read("a", PLACE, 10);
  clock.advance(0);
  expect(results).toEqual(["a ok at 10", "a ok at 10", "a ok at 15", "a ok at 10"]);
  read("a", PLACE, 11);
  expect(requests).toHaveLength(3);
});

test("reads beyond the limit on callers wait in order", () => {
  const { requests, names, read } = readsWith(2);
  for (const name of ["a", "b", "c", "d"]) read(name);
  expect(names()).toEqual(["a", "b"]);
  requests[1]?.answer("ok");
  expect(names()).toEqual(["a", "b", "c"]);
  requests[0]?.answer("gone");
  expect(names()).toEqual(["a", "b", "c", "d"]);
});

test("one read may have any number of callers; the next waits for it", () => {
  const { requests, names, read } = readsWith(2);
  for (let pod = 0; pod < 5; pod++) read("a");
  read("b");
  read("b");
  read("c");
  expect(names()).toEqual(["a"]);
  requests[0]?.answer("ok");
  expect(names()).toEqual(["a", "b"]);
  requests[1]?.answer("ok");
  expect(names()).toEqual(["a", "b", "c"]);
});

test("reads of one urgency do not wait for those of another", () => {
  const { names, read } = readsWith(1);
  read("a", { urgency: Urgency.eviction, stepsBefore: 1 });
  read("b", { urgency: Urgency.eviction, stepsBefore: 1 });
  read("c");
  expect(names()).toEqual(["a", "c"]);
});
