/** The history: bounded, as text, with causes that can be followed even through the API server. */
import { describe, expect, test } from "vitest";
import type { Decision, Subject } from "../../../protocols/ledger-reader.ts";
import type { AnyMessage, BodyOf, MessageType } from "../../../protocols/messages.ts";
import { named } from "../../../services/domain/format.ts";
import { ENTRIES_PER_OBJECT_MAX, History } from "../../../services/ledger/record/history.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { askedTaint, doneNode, judgedNode } from "../ledger-world.ts";

const NODE: Subject = { kind: "Node", namespace: "", name: "n-1" };
const POD: Subject = { kind: "Pod", namespace: "default", name: "web" };

function message<T extends MessageType>(type: T, id: string, body: BodyOf<T>, cause: string | null = null): AnyMessage {
  return { type, id, source: "test@m-0", at: 1000, cause, body } as AnyMessage;
}
const judged = (id: string, cause: string | null = null) => message("judged.node", id, judgedNode("n-1"), cause);
const texts = (decisions: readonly Decision[]) => decisions.map(({ text }) => text);

describe("the history of an object", () => {
  test("lists its entries, oldest first", () => {
    const history = new History();
    history.add(judged("1"), NODE, named`one`);
    history.add(judged("2"), NODE, named`two`);
    history.add(judged("3"), POD, named`other`);
    expect(texts(history.of(NODE))).toEqual(["one", "two"]);
    expect(texts(history.latest(2))).toEqual(["other", "two"]);
    expect(history.latest(0)).toEqual([]);
  });

  test("counts a repeated entry", () => {
    const history = new History();
    history.add(judged("1"), NODE, named`same`);
    expect(history.add(judged("2"), NODE, named`same`)).toMatchObject({ id: "2", times: 2 });
    expect(history.of(NODE)).toMatchObject([{ id: "2", times: 2 }]);
    expect(history.size).toBe(1);
  });

  test("keeps a message once, however often it comes", () => {
    const history = new History();
    history.add(judged("1"), NODE, named`one`);
    expect(history.add(judged("1"), NODE, named`one`)).toBeNull();
    expect(history.of(NODE)).toMatchObject([{ times: 1 }]);
  });

  test("is bounded", () => {
    const history = new History();
    for (let index = 0; index < ENTRIES_PER_OBJECT_MAX + 5; index++)
      history.add(judged(`${index}`), NODE, named`${String(index)}`);
    expect(history.of(NODE)).toHaveLength(ENTRIES_PER_OBJECT_MAX);
    expect(history.of(NODE)[0]?.text).toBe("5");
    expect(history.size).toBe(ENTRIES_PER_OBJECT_MAX);
  });

  test("is dropped least recently mentioned first", () => {
    const history = new History(4);
    const subject = (name: string): Subject => ({ ...NODE, name });
    for (const name of ["a", "b", "a", "c", "b"])
      history.add(judged(`${name}${history.size}`), subject(name), named`${String(history.size)}`);
    expect(history.size).toBeLessThanOrEqual(4);
    expect(history.of(subject("a"))).toEqual([]);
    expect(history.of(subject("b"))).toHaveLength(2);
  });
});

describe("a late entry", () => {
  const at = (instant: number, id: string) => ({ ...judged(id), at: instant });
  const late = () => {
    const history = new History();
    history.add(at(1000, "now"), NODE, named`written`);
    return history;
  };

  test("is placed among the latest decisions by its time", () => {
    const history = late();
    history.add(at(20, "second"), POD, named`second`);
    history.add(at(10, "first"), POD, named`first`);
    expect(texts(history.latest(10))).toEqual(["written", "second", "first"]);
    expect(texts(history.latest(1))).toEqual(["written"]);
  });

  test("is placed in the history of its object by its time", () => {
    const history = late();
    history.add(at(10, "first"), NODE, named`first`);
    expect(texts(history.of(NODE))).toEqual(["first", "written"]);
  });

  test("does not replace a newer equal entry", () => {
    const history = late();
    history.add(at(10, "once"), NODE, named`written`);
    expect(history.of(NODE)).toMatchObject([
      { id: "once", at: 10 },
      { id: "now", at: 1000 },
    ]);
  });

  test("drops nothing newer", () => {
    const history = new History();
    for (let index = 0; index < ENTRIES_PER_OBJECT_MAX; index++)
      history.add(judged(`${index}`), NODE, named`${String(index)}`);
    history.add(at(10, "late"), NODE, named`late`);
    expect(texts(history.of(NODE))).not.toContain("late");
    expect(history.of(NODE)).toHaveLength(ENTRIES_PER_OBJECT_MAX);
    expect(history.size).toBe(ENTRIES_PER_OBJECT_MAX);
  });
});

describe("causes", () => {
  test("are followed back across objects, the nearest first", () => {
    const history = new History();
    history.add(judged("1"), NODE, named`fell silent`);
    history.add(judged("2", "1"), NODE, named`asked`);
    const last = history.add(judged("3", "2"), POD, named`evicted`);
    expect(last && texts(history.causesOf(last))).toEqual(["asked", "fell silent"]);
  });

  test("are found through a message without text", () => {
    const history = new History();
    history.add(judged("1"), NODE, named`fell silent`);
    history.add(judged("2"), NODE, null);
    const ask = history.add(message("asked.taint", "3", askedTaint("n-1"), "2"), NODE, named`asked`);
    expect(ask && texts(history.causesOf(ask))).toEqual(["fell silent"]);
  });

  test("are found through the API server by the resourceVersion of a write", () => {
    const history = new History();
    history.add(message("asked.taint", "1", askedTaint("n-1")), NODE, named`asked`);
    history.add(
      message("done.write", "2", doneNode("asked.taint", "n-1", { resourceVersion: "9" }), "1"),
      NODE,
      named`written`,
    );
    const seen = history.add(
      message("observed.node", "3", observedNode("n-1", { resourceVersion: "9" })),
      NODE,
      named`tainted`,
    );
    expect(seen && texts(history.causesOf(seen))).toEqual(["written", "asked"]);
    const other = history.add(
      message("observed.node", "4", observedNode("n-1", { resourceVersion: "10" })),
      NODE,
      named`by hand`,
    );
    expect(other && texts(history.causesOf(other))).toEqual([]);
  });

  test("that form a cycle end", () => {
    const history = new History();
    history.add(judged("1", "2"), NODE, named`one`);
    const two = history.add(judged("2", "1"), POD, named`two`);
    expect(two && texts(history.causesOf(two))).toEqual(["one", "two"]);
  });

  test("are found under an earlier id of a repeated entry", () => {
    const history = new History();
    for (let index = 0; index < 4; index++) history.add(judged(`${index}`), NODE, named`asked`);
    const done = history.add(judged("done", "1"), POD, named`written`);
    expect(done && texts(history.causesOf(done))).toEqual(["asked"]);
  });
});
