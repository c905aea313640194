/** An older state that a process publishes is caught, unless it cannot know better. */
import { expect, test } from "vitest";
import type { AnyMessage } from "../../protocols/messages.ts";
import { observedNode } from "../support/observed-objects.ts";
import { message } from "./checks.stage.ts";
import { OlderLists } from "./older-lists.ts";
import { drawSwarm } from "./swarm.ts";
import { World } from "./world.ts";

/** Publishes versions of a node from a process, which died as it had sent so many of them; "restored" between two. */
function published(versions: readonly (number | "restored")[], diedAfter = Number.POSITIVE_INFINITY): () => void {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1);
  const world = new World({ ...drawn, plot: null, zones: [], faults: new Set(["staleReplica"]) });
  let diedMs = Number.NEGATIVE_INFINITY;
  const lists = new OlderLists(world, () => diedMs);
  return () => {
    for (const [index, version] of versions.entries()) {
      if (index === diedAfter) diedMs = world.clock.monotonicMs();
      world.clock.advance(1000);
      if (version === "restored") world.restore(world.backup(), "cut");
      else lists.check(message("observed.node", observedNode("n", { resourceVersion: String(version) })), "p1");
    }
  };
}

test("a node that goes back is caught", () => {
  expect(published([5, 7, 7, 9])).not.toThrow();
  expect(published([5, 7, 6])).toThrow("p1 published an older state of node n");
});

test("a process that has started, or a restored backup, may go back", () => {
  expect(published([5, 7, 6], 2)).not.toThrow();
  expect(published([5, 7, "restored", 6])).not.toThrow();
});

test("a lease that goes back is caught", () => {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1);
  const world = new World({ ...drawn, plot: null, zones: [], faults: new Set(["staleServers"]) });
  const lists = new OlderLists(world, () => Number.NEGATIVE_INFINITY);
  const kubelet = world.join({ name: "zone-1", labels: "none", nodes: 0 }, 1, 0);
  const renewals: number[] = [];
  world.api.store.collection("leases").listen(({ now }) => {
    renewals.push(Date.parse(String((now.object().spec as { renewTime: string }).renewTime)));
  });
  world.clock.advance(40_000);
  const [first = 0, second = 0] = renewals;
  const heartbeat = (renewedAt: number): AnyMessage => {
    const heartbeats = [{ node: kubelet.name, kind: "lease" as const, renewedAt, seenAt: 0 }];
    return message("observed.lease", { shard: 0, heartbeats });
  };
  lists.check(heartbeat(first), "p1");
  lists.check(heartbeat(second), "p1");
  expect(() => lists.check(heartbeat(first), "p1")).toThrow(`older state of lease ${kubelet.name}`);
});
