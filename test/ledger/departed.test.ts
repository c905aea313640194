/** What the ledger says of nodes that have left, when word of it came late or never. */
import { describe, expect, test } from "vitest";
import { observedNode } from "../support/observed-objects.ts";
import { judgedNode, type LedgerWorld, ledgerWorld, pulse, SHARDS } from "./ledger-world.ts";

const SWEEP_MS = 60_000;

/** An observer tells that there is no node. */
function seeNone({ tell }: LedgerWorld): void {
  for (const shard of SHARDS) tell("observed.pulse", pulse(shard), "ask");
}

describe("a node that was judged after it had left", () => {
  const LATE = judgedNode("n-1", { readiness: "unknown", ready: "Unknown", heartbeatAt: 0 });

  function departed(): LedgerWorld {
    const world = ledgerWorld();
    world.tell("observed.node", observedNode("n-1"), null);
    world.tell("judged.node", judgedNode("n-1"), null);
    world.tell("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    world.tell("judged.node", LATE, null);
    return world;
  }

  test("is not there any more, once every node is known", () => {
    const world = departed();
    seeNone(world);
    expect(world.ledger.reader.explainNode("n-1")?.sentences).toEqual(["Node n-1 is not there any more."]);
  });

  test("is explained as judged while it cannot be known whether it is there", () => {
    expect(departed().ledger.reader.explainNode("n-1")?.sentences[0]).toMatch(/^Node n-1 is unknown since /);
  });

  test("is not remembered: when it is told again it waits for a judgement", () => {
    const world = departed();
    world.clock.advance(SWEEP_MS - 1);
    seeNone(world);
    world.clock.advance(1);
    world.tell("observed.node", observedNode("n-1"), null);
    expect(world.ledger.reader.overview().nodes).toEqual({ starting: 0, ready: 0, notReady: 0, unknown: 0 });
  });
});
