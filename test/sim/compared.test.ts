/** Whether a comparison with a wrong author is found, and a right one is not. */
import { expect, test } from "vitest";
import type { ComparedStep, LedgerReader } from "../../protocols/ledger-reader.ts";
import { Compared } from "./compared.ts";
import type { CheckedNode } from "./invariants.ts";

const NONE: ComparedStep = { vigil: null, others: null, leadMs: null, why: null };
const AT = { at: 1, id: "m" };

function nodeWith(ready: string): CheckedNode {
  return { metadata: { name: "n-1", uid: "u" }, status: { conditions: [{ type: "Ready", status: ready }] } };
}

/**
 * What the check finds in a comparison of node n-1 after the client with this name wrote Ready=Unknown; "" for a client
 * that is not Vigil.
 */
function problemOf(writer: string, unknown: Partial<ComparedStep>, isForged = false): string | null {
  const node = { node: "n-1", from: 0, to: null, otherTaints: [], unknown: { ...NONE, ...unknown }, noExecute: NONE };
  const ledger: Pick<LedgerReader, "compare"> = {
    compare: () => ({ from: 0, at: 0, isCut: false, isKept: false, gaps: [], nodes: [node], pods: [] }),
  };
  const explaining = () => [{ name: "p0", ledger }];
  const compared = new Compared({ nowMs: () => 0, explaining, isForged: () => isForged, isReplyLost: () => false });
  compared.node(nodeWith("True"), nodeWith("Unknown"), writer);
  try {
    compared.look();
    return null;
  } catch (problem) {
    return String(problem);
  }
}

test.each<[string, string, Partial<ComparedStep>, string | null]>([
  ["Vigil's step as Vigil's", "p0", { vigil: AT }, null],
  ["Vigil's step as another client's", "p0", { others: AT }, "no other client wrote its step unknown"],
  ["another client's step as its own", "", { others: AT }, null],
  ["another client's step as Vigil's", "", { vigil: AT }, "Vigil never wrote its step unknown"],
  ["a plan of Vigil's", "", { others: AT, vigil: { ...AT, isPlanned: true } }, null],
  ["a step without an author", "p0", {}, null],
])("reports %s", (_what, writer, step, problem) => {
  if (problem === null) expect(problemOf(writer, step)).toBeNull();
  else expect(problemOf(writer, step)).toContain(problem);
});

test("reports a deletion of a person's as Vigil's", () => {
  const deleted = { ...NONE, vigil: AT };
  const pod = { namespace: "default", name: "web", uid: "u", node: "n-1", notReady: NONE, deleted };
  const report = { from: 0, at: 0, isCut: false, isKept: false, gaps: [], nodes: [], pods: [pod] };
  const explaining = () => [{ name: "p0", ledger: { compare: () => report } }];
  const looked = (writer: string, isLost = false) => {
    const compared = new Compared({ nowMs: () => 0, explaining, isForged: () => false, isReplyLost: () => isLost });
    compared.podDeleted("web", writer);
    compared.look();
  };
  expect(() => looked("")).toThrow("web: Vigil never wrote its step deleted");
  expect(() => looked("p0")).not.toThrow();
  expect(() => looked("", true)).not.toThrow();
});

test("says nothing of a node that forged messages name", () => {
  expect(problemOf("p0", { others: AT }, true)).toBeNull();
});

test("takes a taint that replaces another client's for Vigil's step", () => {
  const tainted = (key: string): CheckedNode => ({ ...nodeWith("Unknown"), spec: { taints: [taintOf(key)] } });
  const noExecute = { ...NONE, vigil: AT, others: AT };
  const node = { node: "n-1", from: 0, to: null, otherTaints: [], unknown: NONE, noExecute };
  const report = { from: 0, at: 0, isCut: false, isKept: false, gaps: [], nodes: [node], pods: [] };
  const explaining = () => [{ name: "p0", ledger: { compare: () => report } }];
  const compared = new Compared({ nowMs: () => 0, explaining, isForged: () => false, isReplyLost: () => false });
  compared.node(nodeWith("Unknown"), tainted("not-ready"), "");
  compared.node(tainted("not-ready"), tainted("unreachable"), "p0");
  expect(() => compared.look()).not.toThrow();
});

function taintOf(key: string) {
  return { key: `node.kubernetes.io/${key}`, effect: "NoExecute" };
}
