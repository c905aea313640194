/** The simulation parses the sentences of explain and finds false ones. */
import { describe, expect, test } from "vitest";
import type { Explanation, LedgerReader } from "../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../protocols/messages.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { untruth } from "./explained-claims.ts";
import { namesProblem } from "./explained-names.ts";
import { explainedSentence, PRESENT_SENTENCES, type PresentSentenceName } from "./explained-sentences.ts";
import { type ExplainedPod, ExplainedTruth } from "./explained-truth.ts";
import { Explanations } from "./explanations.ts";
import { HeartbeatHistory } from "./heartbeat-history.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

const NAMES = Object.keys(PRESENT_SENTENCES) as PresentSentenceName[];

test.each(NAMES)("%s is parsed with its values", (name) => {
  const values = Object.fromEntries(
    [...PRESENT_SENTENCES[name].matchAll(/\{(\w+)\}/g)].map(([, hole = ""]) => [hole, `<${hole}>`]),
  );
  const text = PRESENT_SENTENCES[name].replaceAll(/\{(\w+)\}/g, "<$1>");
  expect(explainedSentence(text)).toEqual({ name, text, values });
});

test("a text that explain does not produce is no sentence", () => {
  expect(explainedSentence("Node n is fine.")).toBeNull();
});

const OUTDATED =
  "Node n was unknown at 2026-01-01T00:00:00Z, and its owner has published nothing since, " +
  "although the API server shows Ready=True.";

/** A forged request for a node, as a process with a stolen seed sends it. */
function forgedAsk(node: string): AnyMessage {
  const body = { node, uid: "u", resourceVersion: "1", labels: { forged: "true" } };
  return { type: "asked.label", id: "node@thief:0:1", source: "node@thief", at: 0, cause: null, body };
}

describe("a process waits for a whole view", () => {
  /** Whether a process still waits whose ledger says this of the only node. */
  function isWaiting(explained: Explanation | null): boolean {
    const reader: Partial<LedgerReader> = { explainNode: () => explained };
    const world: Partial<World> = { objects: <T>() => [{ metadata: { name: "n", uid: "u" } } as T] };
    const processes = () => [{ name: "p1", ledger: reader as LedgerReader, isFree: true, ownMs: 0, lastPause: null }];
    const run = { world: Object.assign(Object.create(World.prototype), world), processes };
    return new Explanations(run).waitingProcesses().length > 0;
  }

  test("while its ledger does not know a node", () => {
    expect(isWaiting(null)).toBe(true);
    const why = "no pulse from the observer";
    const text = `This ledger has not observed node n since it started: ${why}.`;
    expect(isWaiting({ sentences: [text], names: [], timeline: [] })).toBe(true);
  });

  test("while a judgement is of an earlier time", () => {
    expect(isWaiting({ sentences: [OUTDATED], names: [], timeline: [] })).toBe(true);
  });

  test("no longer when its ledger knows every node", () => {
    expect(isWaiting({ sentences: ["It carries no NoExecute taint."], names: [], timeline: [] })).toBe(false);
  });
});

describe("a ledger", () => {
  /** The reported problem when the only node has this Ready status and a ledger explains it with these sentences. */
  function problemOf(
    status: string,
    sentences: readonly string[],
    { forgedOf, named = { from: 5, to: 6 } }: { forgedOf?: string; named?: { from: number; to: number } } = {},
  ): string | null {
    const clock = new VirtualClock();
    const node = { metadata: { name: "n", uid: "u" }, status: { conditions: [{ type: "Ready", status }] } };
    const name = { kind: "Node", namespace: "", name: "n", ...named } as const;
    const names = sentences.map((text) => (text.startsWith("Node n ") ? [name] : []));
    const reader: Partial<LedgerReader> = { explainNode: (): Explanation => ({ sentences, names, timeline: [] }) };
    const world: Partial<World> = {
      clock,
      swarm: drawSwarm(1),
      signs: new HeartbeatHistory(0),
      objects: <T>() => [node as T],
    };
    const api = { store: { collection: () => ({ sorted: () => [] }) } };
    const processes = () => [{ name: "p1", ledger: reader as LedgerReader, isFree: true, ownMs: 0, lastPause: null }];
    const explanations = new Explanations({
      world: Object.assign(Object.create(World.prototype), world, { api }),
      processes,
    });
    explanations.node(node, false);
    if (forgedOf !== undefined) explanations.hearForged(forgedAsk(forgedOf));
    clock.advance(600_000);
    try {
      explanations.settled();
      explanations.look();
    } catch (error) {
      return String(error);
    }
    return null;
  }

  const READY = "Node n has been ready since 2026-01-01T00:00:00Z (10 min).";

  test("with a true sentence passes", () => {
    expect(problemOf("True", [READY, "It carries no NoExecute taint."])).toBeNull();
  });

  test("with a false sentence is reported", () => {
    expect(problemOf("Unknown", [READY])).toContain(`p1 explains n: "${READY}" is not so (nodeReady)`);
    expect(problemOf("True", [READY, "It carries a:NoExecute."])).toContain("is not so (nodeTainted)");
  });

  test("that is blind in the calm, or has an unknown sentence, is reported", () => {
    expect(problemOf("True", ["Vigil takes no action against it at present: no pulse."])).toContain(
      "is not so (nodeBlind)",
    );
    expect(problemOf("True", ["All is well."])).toContain('"All is well." is no sentence of explain');
  });

  test("that marks a wrong word as a name, or none, is reported", () => {
    expect(problemOf("True", [READY, "It replaces n."])).toContain('"It replaces n." does not say that n is a name');
    expect(problemOf("True", [READY], { named: { from: 4, to: 6 } })).toContain("does not say that n is a name");
    const name = { from: 5, to: 6, kind: "Node", namespace: "", name: "n" } as const;
    const said = { sentences: ["Node m no longer exists."], names: [[name]], timeline: [] };
    expect(namesProblem(said, new Set())).toBe('"Node m no longer exists." says that "m" is the name n');
  });

  test("may say anything about a node in a forged message, but only that", () => {
    expect(problemOf("Unknown", [READY], { forgedOf: "n" })).toBeNull();
    expect(problemOf("Unknown", [READY], { forgedOf: "m" })).toContain("is not so (nodeReady)");
  });
});

describe("an outdated judgement", () => {
  const truth = new ExplainedTruth();
  const ready = (status: string) => ({ status: { conditions: [{ type: "Ready", status }] } });
  truth.nodes.note("n", 0, { metadata: { name: "n", uid: "u" }, ...ready("Unknown") });
  truth.nodes.note("n", 1000, { metadata: { name: "n", uid: "u" }, ...ready("True") });

  /** The problem with it, where the API shows this. */
  function problemOf(shown: string, isCalm = false): string | null {
    const sentence = explainedSentence(OUTDATED.replace("Ready=True", shown));
    if (sentence === null) throw new Error("it is no sentence");
    const late = { overdueMs: 0, lostMs: 0 };
    const asked = { node: "n", pod: "", nodeSinceMs: 1000, podSinceMs: 0, ...late, isDirect: false, isCalm };
    const unasked = () => {
      throw new Error("the rule does not ask for this");
    };
    return untruth({ ...sentence, ...asked, truth, isSilent: unasked, wasAlive: unasked, zone: unasked });
  }

  test("is allowed while things fail", () => {
    expect(problemOf("Ready=True")).toBeNull();
    expect(problemOf("Ready=False")).toContain("is not so (nodeOutdated)");
    expect(problemOf("no Ready condition")).toContain("is not so (nodeOutdated)");
  });

  test("is refused in the calm", () => {
    expect(problemOf("Ready=True", true)).toContain("is not so (nodeOutdated)");
  });
});

describe("of a pod named as a deleted one", () => {
  const CREATED = "2026-01-01T00:10:00Z";
  const truth = new ExplainedTruth();
  const taint = { key: "a", effect: "NoExecute" };
  const pod = (uid: string, creationTimestamp: string): ExplainedPod => ({
    metadata: { namespace: "default", name: "p", uid, creationTimestamp },
    spec: { nodeName: "n", tolerations: [{ key: "a", operator: "Exists", tolerationSeconds: 30 }] },
  });
  truth.nodes.note("n", 0, { metadata: { name: "n", uid: "u" }, spec: { taints: [taint] } });
  truth.pods.note("p", 0, pod("old", "2026-01-01T00:00:00Z"));
  truth.deletedByVigil("p", "old");
  truth.pods.note("p", 1000, null);

  /** The problem with a sentence about the pod that has had the name for two seconds. */
  function problemOf(text: string, { overdueMs = 0, lostMs = 0, isCalm = false } = {}): string | null {
    const sentence = explainedSentence(text);
    if (sentence === null) throw new Error(`${text} is no sentence`);
    const unasked = () => {
      throw new Error("no rule of a pod asks for this");
    };
    const late = { overdueMs, lostMs };
    const asked = { node: "n", pod: "p", nodeSinceMs: 0, podSinceMs: 2000, ...late, isDirect: false, isCalm };
    return untruth({ ...sentence, ...asked, truth, isSilent: unasked, wasAlive: unasked, zone: unasked });
  }

  test("the deletion is true until the new pod exists", () => {
    const ours = "Vigil deleted it at 2026-01-01T00:05:00Z.";
    expect(problemOf(ours)).toBeNull();
    truth.pods.note("p", 2000, pod("new", CREATED));
    expect(problemOf(ours)).toContain("is not so (podOurs)");
    truth.deletedByVigil("p", "new");
    expect(problemOf(ours)).toBeNull();
  });

  test("after a lost reply, one by another client counts", () => {
    truth.pods.note("p", 2000, pod("newer", CREATED));
    const ours = "Vigil deleted it at 2026-01-01T00:05:00Z.";
    expect(problemOf(ours)).toContain("is not so (podOurs)");
    truth.outcomes.add("p unknown");
    expect(problemOf(ours)).toBeNull();
  });

  test("the earlier deadline is false", () => {
    expect(problemOf("Pod default/p is due to be deleted at 2026-01-01T00:10:30Z, in 30 s.")).toBeNull();
    const earlier = "Pod default/p was due to be deleted at 2026-01-01T00:09:00Z, 60 s ago.";
    expect(problemOf(earlier)).toContain("is not so (podOverdue)");
  });

  test("an overdue deletion is requested in the calm", () => {
    const unrequested = "No request for its deletion has been received yet.";
    expect(problemOf(unrequested, { overdueMs: 60_000 })).toBeNull();
    expect(problemOf(unrequested, { overdueMs: 1_000, isCalm: true })).toBeNull();
    expect(problemOf(unrequested, { overdueMs: 60_000, isCalm: true })).toContain("is not so (podUnrequested)");
  });

  test("a request may be late by what a clock has lost", () => {
    const unrequested = "No request for its deletion has been received yet.";
    const late = { overdueMs: 22_000, isCalm: true };
    expect(problemOf(unrequested, { ...late, lostMs: 13_000 })).toBeNull();
    expect(problemOf(unrequested, { ...late, lostMs: 12_000 })).toContain("is not so (podUnrequested)");
  });
});
