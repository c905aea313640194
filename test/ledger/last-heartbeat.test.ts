/** The last heartbeat of each node, as a ledger reports it. */
import { expect, test } from "vitest";
import { shardOf } from "../../protocols/subjects.ts";
import { observedNode } from "../support/observed-objects.ts";
import { judgedNode, ledgerWorld } from "./ledger-world.ts";

test("a ready node's last heartbeat is known to the second, a silent one's exactly", () => {
  const { ledger, receive, clock } = ledgerWorld();
  const heartbeatAt = () => ledger.reader.nodes()[0]?.heartbeatAt ?? null;
  receive("observed.node", observedNode("n-1"), null);
  receive("judged.node", judgedNode("n-1", { heartbeatAt: 1 }), null);
  expect(heartbeatAt()).toBeNull();
  clock.advance(20_000);
  const beaten = clock.wallMs();
  const heartbeat = { node: "n-1", kind: "lease", renewedAt: beaten, seenAt: beaten } as const;
  receive("observed.lease", { shard: shardOf("n-1"), heartbeats: [heartbeat] }, null);
  clock.advance(7000);
  expect(Math.abs((heartbeatAt() ?? 0) - beaten)).toBeLessThanOrEqual(1000);
  receive("judged.node", judgedNode("n-1", { readiness: "unknown", heartbeatAt: beaten + 1 }), null);
  expect(heartbeatAt()).toBe(beaten + 1);
});
