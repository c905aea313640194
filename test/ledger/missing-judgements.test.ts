/** A ledger that missed the judgement of a node requests a resync, where a process judges nodes. */
import { expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../protocols/digest.ts";
import type { Message } from "../../protocols/messages.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { JUDGED_WITHIN_MS } from "../../services/ledger/missing-judgements.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { observedNode } from "../support/observed-objects.ts";
import { judgedNode, type LedgerWorld, ledgerWorld, pulse } from "./ledger-world.ts";

/** The reasons of the requested resyncs, with an observed node and a pulse every second. */
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

test("a lost judgement leads to resync requests with backoff", () => {
  const reasons = reasonsAfter(({ receive }) => receive("judged.node", judgedNode("n-2"), null));
  expect(reasons[0]).toBe("no judgement of a node was received");
  expect(reasons.length).toBeLessThan(4);
});

test("no resync is requested for a judged node, or where no process judges", () => {
  expect(reasonsAfter(({ receive }) => receive("judged.node", judgedNode("n-1"), null))).toEqual([]);
  expect(reasonsAfter(() => {})).toEqual([]);
});
