/** An observer that takes over and lists from an API server whose cache is minutes old: renewals go backwards. */
import { expect, test } from "vitest";
import type { Wire } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { SHARD_COUNT } from "../../protocols/subjects.ts";
import { SPINE } from "../scenario/spine.ts";
import { HandFleet } from "../support/hand-fleet.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";

const SECOND_MS = 1000;
const GRACE_MS = STANDARD_PROFILE.nodeMonitorGraceMs;
/** How old the cache is at the takeover. */
const STALE_MS = 60 * SECOND_MS;
const LIVE = ["live-1", "live-2", "live-3"];

/** A wire to a server whose first answer to each list is as old as a revision; a list of the newest state is not. */
function staleWire(wire: Wire, revision: () => number): Wire {
  return {
    send: (request, exchange) => {
      const asked = /resourceVersion=0(?=&|$)/;
      const path = request.path.replace(asked, `resourceVersion=${revision()}&resourceVersionMatch=Exact`);
      return wire.send({ ...request, path }, exchange);
    },
  };
}

function giveAll(fleet: HandFleet): void {
  fleet.set("observer", 0, true);
  for (let shard = 0; shard < SHARD_COUNT; shard++) {
    fleet.set("node", shard, true);
    fleet.set("node-writer", shard, true);
  }
}

/** A node dies, and half a minute later the process that does everything; the next one lists from the old cache. */
function takenOver() {
  const cluster = new VirtualCluster();
  for (const name of LIVE) cluster.addNode({ name });
  const kubelet = cluster.addNode({ name: "dead" });
  const [first, second] = [new HandFleet("one"), new HandFleet("two")];
  let revision = 0;
  giveAll(first);
  const one = cluster.start(SPINE, { member: "one", fleet: first });
  cluster.start(SPINE, { member: "two", fleet: second, wireOver: (wire) => staleWire(wire, () => revision) });
  cluster.advance(100 * SECOND_MS);
  revision = cluster.api.store.revision;
  cluster.advance(STALE_MS - 30 * SECOND_MS);
  kubelet.stop();
  cluster.advance(30 * SECOND_MS);
  one.kill();
  cluster.advance(4 * SECOND_MS);
  const condemned = () => [...new Set(cluster.published("asked.condition").map(({ body }) => body.node))];
  return { cluster, take: () => giveAll(second), condemned };
}

/** Whether a renewal of the dead node was reported that is older than one reported before. */
function wentBack(cluster: VirtualCluster): boolean {
  const signs = cluster.published("observed.lease").flatMap(({ body }) => body.heartbeats);
  const renewals = signs.flatMap(({ node, kind, renewedAt }) =>
    node === "dead" && kind === "lease" ? [renewedAt ?? 0] : [],
  );
  return renewals.some((renewedAt, index) => renewedAt < (renewals[index - 1] ?? 0));
}

test("an old list that the watch catches up with costs the dead node's verdict one grace at most, the living nothing", () => {
  const { cluster, take, condemned } = takenOver();
  take();
  cluster.advance(GRACE_MS + SECOND_MS);
  expect(condemned()).toEqual(["dead"]);
  expect(cluster.conditions("dead")).toContain("Ready=Unknown");
  cluster.advance(120 * SECOND_MS);
  expect(condemned()).toEqual(["dead"]);
});

test("renewals that go backwards because the cache stays old condemn nobody alive, and the dead is found from newer lists", () => {
  const { cluster, take, condemned } = takenOver();
  const catchUp = cluster.api.faults.silenceWatches("leases");
  take();
  cluster.advance(40 * SECOND_MS);
  expect(condemned()).toEqual([]);
  expect(wentBack(cluster)).toBe(true);
  catchUp();
  cluster.advance(GRACE_MS);
  expect(condemned()).toEqual(["dead"]);
  expect(cluster.conditions("dead")).toContain("Ready=Unknown");
  cluster.advance(120 * SECOND_MS);
  expect(condemned()).toEqual(["dead"]);
});
