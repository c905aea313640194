/** An observer takes over and lists from an API server whose cache is a minute old: renewals go backwards. */
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

/** A wire to a server that answers lists from its cache with an old revision. */
function staleWire(wire: Wire, revision: () => number): Wire {
  return {
    send: (request, exchange) => {
      const cached = /resourceVersion=0(?=&|$)/;
      const path = request.path.replace(cached, `resourceVersion=${revision()}&resourceVersionMatch=Exact`);
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

/** A node dies, then half a minute later the process that runs all services; the next one lists from the old cache. */
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
  const foundUnknown = () => [...new Set(cluster.published("asked.condition").map(({ body }) => body.node))];
  return { cluster, take: () => giveAll(second), foundUnknown };
}

/** Whether a renewal of the dead node was published after a newer one. */
function wentBack(cluster: VirtualCluster): boolean {
  const heartbeats = cluster.published("observed.lease").flatMap(({ body }) => body.heartbeats);
  const renewals = heartbeats.flatMap(({ node, kind, renewedAt }) =>
    node === "dead" && kind === "lease" ? [renewedAt ?? 0] : [],
  );
  return renewals.some((renewedAt, index) => renewedAt < (renewals[index - 1] ?? 0));
}

test("a stale list that the watch corrects delays a verdict by one grace at most", () => {
  const { cluster, take, foundUnknown } = takenOver();
  take();
  cluster.advance(GRACE_MS + SECOND_MS);
  expect(foundUnknown()).toEqual(["dead"]);
  expect(cluster.conditions("dead")).toContain("Ready=Unknown");
  cluster.advance(120 * SECOND_MS);
  expect(foundUnknown()).toEqual(["dead"]);
});

test("while the cache stays stale, no live node is found Unknown", () => {
  const { cluster, take, foundUnknown } = takenOver();
  const catchUp = cluster.api.faults.silenceWatches("leases");
  take();
  cluster.advance(40 * SECOND_MS);
  expect(foundUnknown()).toEqual([]);
  expect(wentBack(cluster)).toBe(true);
  catchUp();
  cluster.advance(GRACE_MS);
  expect(foundUnknown()).toEqual(["dead"]);
  expect(cluster.conditions("dead")).toContain("Ready=Unknown");
  cluster.advance(120 * SECOND_MS);
  expect(foundUnknown()).toEqual(["dead"]);
});
