/** Looks that are shared: one for all who want the same object, few ahead of the writes they allow, in order. */
import { expect, test } from "vitest";
import { type ObjectRef, type ReadPlace, type ReadReply, Urgency } from "../../../protocols/ports.ts";
import { SingleFlightReads } from "../../../services/platform/requests/single-flight-reads.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

const KEPT_MS = 500;
const PLACE: ReadPlace = { urgency: Urgency.readiness, stepsBefore: 1 };

function node(name: string): ObjectRef {
  return { kind: "Node", namespace: "", name };
}

/** Looks that are answered by the test. */
function looks(waitersMax: number) {
  const clock = new VirtualClock();
  const asked: { name: string; answer: (outcome: "ok" | "gone") => void }[] = [];
  const read = ({ name }: ObjectRef, done: (reply: ReadReply) => void): void => {
    const replies = { ok: { outcome: "ok", object: { metadata: { name } } }, gone: { outcome: "gone", detail: "" } };
    asked.push({ name, answer: (outcome) => done(replies[outcome] as ReadReply) });
  };
  const shared = new SingleFlightReads({ kube: { read }, clock, keptMs: KEPT_MS, waitersMax });
  const seen: string[] = [];
  const look = (name: string, place = PLACE): void =>
    shared.read(node(name), ({ reply, readAtMs }) => seen.push(`${name} ${reply.outcome} at ${readAtMs}`), place);
  const names = () => asked.map(({ name }) => name);
  return { clock, asked, names, seen, look };
}

test("all who want the same object are served by one look", () => {
  const { asked, seen, look } = looks(1);
  look("a");
  look("a");
  asked[0]?.answer("gone");
  expect(asked).toHaveLength(1);
  expect(seen).toEqual(["a gone at 0", "a gone at 0"]);
});

test("a look that found its object serves those who come soon after, with the instant it was taken", () => {
  const { clock, asked, seen, look } = looks(1);
  look("a");
  asked[0]?.answer("ok");
  clock.advance(KEPT_MS - 1);
  look("a");
  clock.advance(0);
  expect(seen).toEqual(["a ok at 0", "a ok at 0"]);
  clock.advance(1);
  look("a");
  expect(asked).toHaveLength(2);
});

test("no more viewers are waited for at once than allowed; other looks follow in the order they came", () => {
  const { asked, names, look } = looks(2);
  for (const name of ["a", "b", "c", "d"]) look(name);
  expect(names()).toEqual(["a", "b"]);
  asked[1]?.answer("ok");
  expect(names()).toEqual(["a", "b", "c"]);
  asked[0]?.answer("gone");
  expect(names()).toEqual(["a", "b", "c", "d"]);
});

test("one look goes ahead for any number of viewers, and the next when they are served", () => {
  const { asked, names, look } = looks(2);
  for (let pod = 0; pod < 5; pod++) look("a");
  look("b");
  look("b");
  look("c");
  expect(names()).toEqual(["a"]);
  asked[0]?.answer("ok");
  expect(names()).toEqual(["a", "b"]);
  asked[1]?.answer("ok");
  expect(names()).toEqual(["a", "b", "c"]);
});

test("looks of one urgency do not wait for those of another", () => {
  const { names, look } = looks(1);
  look("a", { urgency: Urgency.eviction, stepsBefore: 1 });
  look("b", { urgency: Urgency.eviction, stepsBefore: 1 });
  look("c");
  expect(names()).toEqual(["a", "c"]);
});
