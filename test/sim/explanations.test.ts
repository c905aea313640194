/** What the simulation makes of the sentences of explain: which one it is, and that one which is not so is found. */
import { describe, expect, test } from "vitest";
import type { Explanation, LedgerReader } from "../../protocols/status.ts";
import { SENTENCES, type SentenceName } from "../../services/ledger/explain/sentences.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { Explanations } from "./explanations.ts";
import { saidSentence } from "./said-sentences.ts";
import { SignsOfLife } from "./signs-of-life.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

const NAMES = Object.keys(SENTENCES) as SentenceName[];

test.each(NAMES)("%s is read back with what was filled into it", (name) => {
  const values = Object.fromEntries(
    [...SENTENCES[name].text.matchAll(/\{(\w+)\}/g)].map(([, hole = ""]) => [hole, `<${hole}>`]),
  );
  const text = SENTENCES[name].text.replaceAll(/\{(\w+)\}/g, "<$1>");
  expect(saidSentence(text)).toEqual({ name, text, values });
});

test("a text that explain does not say is no sentence", () => {
  expect(saidSentence("Node n is fine.")).toBeNull();
});

describe("a ledger", () => {
  /** The problem that is found when the only node's Ready condition is this and a ledger explains it like that. */
  function problemOf(status: string, ...sentences: string[]): string | null {
    const clock = new VirtualClock();
    const node = { metadata: { name: "n", uid: "u" }, status: { conditions: [{ type: "Ready", status }] } };
    const reader: Partial<LedgerReader> = { explainNode: (): Explanation => ({ sentences, timeline: [] }) };
    const world: Partial<World> = {
      clock,
      swarm: drawSwarm(1),
      signs: new SignsOfLife(0),
      objects: <T>() => [node as T],
    };
    const api = { store: { collection: () => ({ sorted: () => [] }) } };
    const processes = () => [{ name: "p1", ledger: reader as LedgerReader, isFree: true, lastPause: null }];
    const explanations = new Explanations({
      world: Object.assign(Object.create(World.prototype), world, { api }),
      processes,
      clockSpreadMs: () => 0,
    });
    explanations.node(node, false);
    clock.advance(600_000);
    try {
      explanations.settled();
      explanations.look();
    } catch (error) {
      return String(error);
    }
    return null;
  }

  const READY = "Node n is ready since 2026-01-01T00:00:00Z (10 min).";

  test("that says what is so is believed", () => {
    expect(problemOf("True", READY, "It carries no NoExecute taint.")).toBeNull();
  });

  test("that says what is not so is found out", () => {
    expect(problemOf("Unknown", READY)).toContain(`p1 explains n: "${READY}" is not so (nodeReady)`);
    expect(problemOf("True", READY, "It carries a:NoExecute.")).toContain("is not so (nodeTainted)");
  });

  test("that is blind in the calm, or says what explain never says, is found out", () => {
    expect(problemOf("True", "Nothing is decided against it at present: no pulse.")).toContain("is not so (nodeBlind)");
    expect(problemOf("True", "All is well.")).toContain('"All is well." is no sentence of explain');
  });
});
