/** A ledger that missed the judgement of a node has its shard resynced, where anybody judges nodes. */
import { expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../protocols/digest.ts";
import type { Message } from "../../protocols/messages.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { JUDGED_WITHIN_MS } from "../../services/ledger/missing-judgements.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { observedNode } from "../support/observed-objects.ts";
import { judgedNode, type LedgerWorld, ledgerWorld, pulse } from "./ledger-world.ts";

/** The reasons of the resyncs that the ledger asks for, once a node was observed and each second brought a pulse. */
function reasonsAfter(prepare: (world: LedgerWorld) => void): string[] {
  const world = ledgerWorld();
  const { io, transport } = world;
  const bus = typedBus({ ...io, transport, cluster: "test", service: "node", member: "m-1", mailboxMessagesMax: 100 });
  const asked: Message<"asked.resync">[] = [];
  bus.subscribe("asked.resync", "all", (message) => asked.push(message));
  world.receive("observed.node", observedNode("n-1"), null);
  prepare(world);
  const { node, uid, resourceVersion } = observedNode("n-1");
  const nodes = digestWith(EMPTY_DIGEST, node, nodeVersion(uid, resourceVersion));
  for (let ms = 0; ms <= 2 * JUDGED_WITHIN_MS; ms += 1000) {
    world.receive("observed.pulse", pulse(shardOf("n-1"), { nodes }), "ask");
    world.clock.advance(1000);
  }
  return asked.map(({ body }) => body.reason);
}

test("a judgement that was lost is asked for, with growing pauses", () => {
  const reasons = reasonsAfter(({ receive }) => receive("judged.node", judgedNode("n-2"), null));
  expect(reasons[0]).toBe("no judgement of a node was received");
  expect(reasons.length).toBeLessThan(4);
});

test("a node that was judged needs no resync, nor does any where nobody judges", () => {
  expect(reasonsAfter(({ receive }) => receive("judged.node", judgedNode("n-1"), null))).toEqual([]);
  expect(reasonsAfter(() => {})).toEqual([]);
});
