/** The simulation finds false sentences of explain by what they say. */

import { describe, expect, test } from "vitest";
import type { FactualExplanation, LedgerReader } from "../../protocols/ledger-reader.ts";
import type { AnyMessage } from "../../protocols/messages.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { type Sentence, sentence } from "../../services/ledger/explain/sentences.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { isTrue } from "./explained-claims.ts";
import { namesProblem } from "./explained-names.ts";
import { type ExplainedPod, ExplainedTruth } from "./explained-truth.ts";
import { Explanations } from "./explanations.ts";
import { profileGrace } from "./graces.ts";
import { HeartbeatHistory } from "./heartbeat-history.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

const AT = "2026-01-01T00:00:00Z";

/** The fact that a node's owner has published nothing since it was unknown. */
const outdated = (shown: string) => sentence("nodeOutdated", { node: "n", readiness: "unknown", at: AT, shown });

/** An explanation of these sentences. */
function explanationOf(...facts: readonly Sentence[]): FactualExplanation {
  return { sentences: facts.map(({ text }) => text), names: facts.map(({ names }) => names), facts, timeline: [] };
}

const graces = () => [profileGrace(STANDARD_PROFILE)];

/** A forged request for a node, as a process with a stolen seed sends it. */
function forgedAsk(node: string): AnyMessage {
  const body = { node, uid: "u", resourceVersion: "1", labels: { forged: "true" } };
  return { type: "asked.label", id: "node@thief:0:1", source: "node@thief", at: 0, cause: null, body };
}

describe("a process waits for a complete view", () => {
  /** Whether a process still waits after its ledger reports this about the only node. */
  function isWaiting(explained: FactualExplanation | null): boolean {
    const reader: Partial<LedgerReader> = { explainNode: () => explained };
    const world: Partial<World> = { objects: <T>() => [{ metadata: { name: "n", uid: "u" } } as T] };
    const processes = () => [{ name: "p1", ledger: reader as LedgerReader, isFree: true, ownMs: 0, lastPause: null }];
    const run = { world: Object.assign(Object.create(World.prototype), world), processes, graces };
    return new Explanations(run).waitingProcesses().length > 0;
  }

  test("while its ledger does not know a node", () => {
    expect(isWaiting(null)).toBe(true);
    const unobserved = sentence("nodeUnobserved", { node: "n", why: "no pulse from the observer" });
    expect(isWaiting(explanationOf(unobserved))).toBe(true);
  });

  test("while a judgement is of an earlier time", () => {
    expect(isWaiting(explanationOf(outdated("Ready=True")))).toBe(true);
  });

  test("no longer when its ledger knows every node", () => {
    expect(isWaiting(explanationOf(sentence("nodeUntainted", {})))).toBe(false);
  });
});

describe("a ledger", () => {
  /** The reported problem when the only node has this Ready status and a ledger explains it with these sentences. */
  function problemOf(
    status: string,
    facts: readonly Sentence[],
    { forgedOf, names }: { forgedOf?: string; names?: FactualExplanation["names"] } = {},
  ): string | null {
    const clock = new VirtualClock();
    const node = { metadata: { name: "n", uid: "u" }, status: { conditions: [{ type: "Ready", status }] } };
    const explained = { ...explanationOf(...facts), ...(names && { names }) };
    const reader: Partial<LedgerReader> = { explainNode: () => explained };
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
      graces,
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

  const READY = sentence("nodeReady", { node: "n", since: AT, span: "10 min" });

  test("with a true sentence passes", () => {
    expect(problemOf("True", [READY, sentence("nodeUntainted", {})])).toBeNull();
  });

  test("with a false sentence is reported", () => {
    expect(problemOf("Unknown", [READY])).toContain(`p1 explains n: "${READY.text}" is not so (nodeReady)`);
    expect(problemOf("True", [READY, sentence("nodeTainted", { taints: "a:NoExecute" })])).toContain(
      "is not so (nodeTainted)",
    );
  });

  test("that is blind in the calm, or describes no node, is reported", () => {
    expect(problemOf("True", [sentence("nodeBlind", { why: "no pulse" })])).toContain("is not so (nodeBlind)");
    expect(problemOf("True", [sentence("policyNoNode", {})])).toContain("is not so (policyNoNode)");
  });

  test("that marks a wrong word as a name, or none, is reported", () => {
    const blind = sentence("nodeBlind", { why: "it replaces n" });
    expect(problemOf("True", [READY, blind])).toContain('it replaces n." does not say that n is a name');
    const name = { from: 5, to: 6, kind: "Node", namespace: "", name: "n" } as const;
    expect(problemOf("True", [READY], { names: [[{ ...name, from: 4 }]] })).toContain("does not say that n is a name");
    const said = { sentences: ["Node m no longer exists."], names: [[name]], timeline: [] };
    expect(namesProblem(said, new Set())).toBe('"Node m no longer exists." says that "m" is the name n');
  });

  test("may say anything about a node in a forged message, but only that", () => {
    expect(problemOf("Unknown", [READY], { forgedOf: "n" })).toBeNull();
    expect(problemOf("Unknown", [READY], { forgedOf: "m" })).toContain("is not so (nodeReady)");
  });
});

describe("a node found gone", () => {
  const detail = " (another node has this name now)";
  const foundGone = sentence("nodeFoundGone", { node: "n", at: AT, detail });

  /** Whether it is true of a node whose name nodes with these uids have had, none of them missing since. */
  function isAllowed(...uids: readonly string[]): boolean {
    const truth = new ExplainedTruth();
    for (const [index, uid] of uids.entries()) truth.nodes.note("n", index, { metadata: { name: "n", uid } });
    const unasked = () => {
      throw new Error("the rule does not ask for this");
    };
    const asked = { node: "n", pod: "", nodeSinceMs: 1000, podSinceMs: 0, overdueMs: 0, lostMs: 0 };
    const run = { isDirect: false, isComparing: false, isCalm: false };
    return isTrue({ ...foundGone, ...asked, ...run, truth, isSilent: unasked, wasAlive: unasked, zone: unasked });
  }

  test("may have been replaced by a restored backup", () => {
    expect(isAllowed("old", "restored")).toBe(true);
  });

  test("is not the only one that ever had the name", () => {
    expect(isAllowed("old", "old")).toBe(false);
  });
});

describe("an outdated judgement", () => {
  const truth = new ExplainedTruth();
  const ready = (status: string) => ({ status: { conditions: [{ type: "Ready", status }] } });
  truth.nodes.note("n", 0, { metadata: { name: "n", uid: "u" }, ...ready("Unknown") });
  truth.nodes.note("n", 1000, { metadata: { name: "n", uid: "u" }, ...ready("True") });

  /** Whether it is true, where the API shows this. */
  function isAllowed(shown: string, isCalm = false): boolean {
    const late = { overdueMs: 0, lostMs: 0 };
    const asked = {
      node: "n",
      pod: "",
      nodeSinceMs: 1000,
      podSinceMs: 0,
      ...late,
      isDirect: false,
      isComparing: false,
      isCalm,
    };
    const unasked = () => {
      throw new Error("the rule does not ask for this");
    };
    return isTrue({ ...outdated(shown), ...asked, truth, isSilent: unasked, wasAlive: unasked, zone: unasked });
  }

  test("is allowed while things fail", () => {
    expect(isAllowed("Ready=True")).toBe(true);
    expect(isAllowed("Ready=False")).toBe(false);
    expect(isAllowed("no Ready condition")).toBe(false);
  });

  test("is refused in the calm", () => {
    expect(isAllowed("Ready=True", true)).toBe(false);
  });
});

describe("a sentence in the calm", () => {
  /** Whether it is true of a node with this Ready condition, for which a write has succeeded. */
  function isAllowed(said: Sentence, { heartbeat = AT, isBehind = false }): boolean {
    const truth = new ExplainedTruth();
    const conditions = [{ type: "Ready", status: "Unknown", lastHeartbeatTime: heartbeat }];
    truth.nodes.note("n", 0, { metadata: { name: "n", uid: "u" }, status: { conditions } });
    truth.outcomes.add("n ok");
    const late = { overdueMs: 0, lostMs: 0 };
    const asked = { node: "n", pod: "", nodeSinceMs: 0, podSinceMs: 0, isDirect: false, isComparing: false };
    const unasked = () => {
      throw new Error("the rule does not ask for this");
    };
    const about = { truth, isSilent: unasked, wasAlive: unasked, zone: unasked, isCalm: true, isBehind };
    return isTrue({ ...said, ...asked, ...late, ...about });
  }

  test("may name a heartbeat with more digits in seconds", () => {
    const said = sentence("nodeUnknownByStatus", { node: "n", since: AT, span: "4 s", heartbeat: AT });
    expect(isAllowed(said, { heartbeat: AT.replace("Z", ".000000Z") })).toBe(true);
    expect(isAllowed(said, { heartbeat: "2026-01-01T00:00:01.000000Z" })).toBe(false);
  });

  test("may name a write that lagging watches do not show", () => {
    const said = sentence("requestWritten", { what: "a taint", at: AT });
    expect(isAllowed(said, { isBehind: true })).toBe(true);
    expect(isAllowed(said, { isBehind: false })).toBe(false);
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

  /** Whether a sentence about the pod that has had the name for two seconds is true. */
  function isAllowed(fact: Sentence, { overdueMs = 0, lostMs = 0, isCalm = false, isDirect = false } = {}): boolean {
    const unasked = () => {
      throw new Error("no rule of a pod asks for this");
    };
    const late = { overdueMs, lostMs };
    const asked = {
      node: "n",
      pod: "p",
      nodeSinceMs: 0,
      podSinceMs: 2000,
      ...late,
      isDirect,
      isComparing: false,
      isCalm,
    };
    return isTrue({ ...fact, ...asked, truth, isSilent: unasked, wasAlive: unasked, zone: unasked });
  }

  const ours = sentence("podOurs", { at: "2026-01-01T00:05:00Z" });
  const unrequested = sentence("podUnrequested", {});

  test("the deletion is true until the new pod exists", () => {
    expect(isAllowed(ours)).toBe(true);
    truth.pods.note("p", 2000, pod("new", CREATED));
    expect(isAllowed(ours)).toBe(false);
    truth.deletedByVigil("p", "new");
    expect(isAllowed(ours)).toBe(true);
  });

  test("after a lost reply, one by another client counts", () => {
    truth.pods.note("p", 2000, pod("newer", CREATED));
    expect(isAllowed(ours)).toBe(false);
    truth.outcomes.add("p unknown");
    expect(isAllowed(ours)).toBe(true);
  });

  test("the earlier deadline is false", () => {
    const pod = "default/p";
    expect(isAllowed(sentence("podDue", { pod, at: "2026-01-01T00:10:30Z", span: "30 s" }))).toBe(true);
    const earlier = sentence("podOverdue", { pod, at: "2026-01-01T00:09:00Z", span: "60 s" });
    expect(isAllowed(earlier)).toBe(false);
  });

  test("an overdue deletion is requested in the calm", () => {
    expect(isAllowed(unrequested, { overdueMs: 60_000 })).toBe(true);
    expect(isAllowed(unrequested, { overdueMs: 1_000, isCalm: true })).toBe(true);
    expect(isAllowed(unrequested, { overdueMs: 60_000, isCalm: true })).toBe(false);
  });

  test("a drain is queued soon after it is due", () => {
    const overdue = sentence("drainOverdue", { at: "2026-01-01T00:06:22Z" });
    const inCalm = { isDirect: true, isCalm: true };
    expect(isAllowed(overdue, { ...inCalm, overdueMs: 0 })).toBe(true);
    expect(isAllowed(overdue, { ...inCalm, overdueMs: 60_000 })).toBe(false);
  });

  test("a request may be late by what a clock has lost", () => {
    const late = { overdueMs: 22_000, isCalm: true };
    expect(isAllowed(unrequested, { ...late, lostMs: 13_000 })).toBe(true);
    expect(isAllowed(unrequested, { ...late, lostMs: 12_000 })).toBe(false);
  });
});
