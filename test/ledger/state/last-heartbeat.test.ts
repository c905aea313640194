/** The last heartbeat of each node, as a ledger reports it. */
import { describe, expect, test } from "vitest";
import { shardOf } from "../../../protocols/subjects.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { judgedNode, ledgerWorld } from "../ledger-world.ts";

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

describe("a heartbeat of another member's node", () => {
  const OTHERS = { member: "m-0", owns: () => false, follow: () => () => {} };

  function foreign(followedNodesMax: number) {
    const { ledger, receive, clock } = ledgerWorld({ fleet: OTHERS, followedNodesMax });
    receive("observed.node", observedNode("n-1"), null);
    receive("judged.node", judgedNode("n-1", { heartbeatAt: 1 }), null);
    clock.advance(20_000);
    const beat = (): number => {
      const seenAt = clock.wallMs();
      const heartbeat = { node: "n-1", kind: "lease", renewedAt: seenAt, seenAt } as const;
      receive("observed.lease", { shard: shardOf("n-1"), heartbeats: [heartbeat] }, null);
      return seenAt;
    };
    return { clock, beat, heartbeatAt: () => ledger.reader.nodes()[0]?.heartbeatAt ?? null };
  }

  test("is known at once in a small cluster", () => {
    const { beat, heartbeatAt } = foreign(1);
    expect(beat()).toBe(heartbeatAt());
  });

  test("is known in a large one while somebody asks", () => {
    const { clock, beat, heartbeatAt } = foreign(0);
    beat();
    expect(heartbeatAt()).toBeNull();
    expect(beat()).toBe(heartbeatAt());
    clock.advance(63_000);
    beat();
    expect(heartbeatAt()).toBeNull();
  });
});
