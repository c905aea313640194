/** The lease of a node is renewed by something else than its kubelet: explain and a gauge say so, and nothing else. */
import { expect, test } from "vitest";
import { LEASE_NAMESPACE } from "../../protocols/names.ts";
import { type ObjectRef, Urgency } from "../../protocols/ports.ts";
import { apiMicroTime } from "../../services/domain/api-time.ts";
import { ExplainedWorld } from "../support/explained-world.ts";
import { metricValue } from "../support/metric-value.ts";

const S = 1000;
const LEASE: ObjectRef = { kind: "Lease", namespace: LEASE_NAMESPACE, name: "a-0" };
const FOREIGN = "Its lease belongs to another node object (uid gone): an old kubelet may keep it alive.";
const SHARED = "Two machines renew its lease: a-0 and b-7.";

function startedWorld(): ExplainedWorld {
  const world = new ExplainedWorld([]);
  world.addZone("a", 3);
  world.run();
  world.advance(60 * S);
  return world;
}

function sentences(world: ExplainedWorld, node: string): readonly string[] {
  return world.reader.explainNode(node)?.sentences ?? [];
}

function contested(world: ExplainedWorld, reason: string): Promise<number> {
  return metricValue(world.metrics, "vigil_nodes_lease_contested", { reason });
}

/** Replaces the lease of a-0 by one with this owner, as a kubelet that still has the uid of an earlier node does. */
function replaceLease(world: ExplainedWorld, uid: string): void {
  world.write({ verb: "delete", ref: LEASE, urgency: Urgency.status });
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "a-0", uid }];
  const spec = { holderIdentity: "a-0", leaseDurationSeconds: 40, renewTime: apiMicroTime(world.clock.wallMs()) };
  const metadata = { name: "a-0", namespace: LEASE_NAMESPACE, ownerReferences };
  const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
  world.write({ verb: "create", ref: LEASE, urgency: Urgency.status, body });
}

test("the lease of another node object counts, and is named until its node owns it", async () => {
  const world = startedWorld();
  replaceLease(world, "gone");
  world.advance(30 * S);
  expect(sentences(world, "a-0")).toContain(FOREIGN);
  expect(sentences(world, "a-1").join()).not.toContain("lease");
  expect(await contested(world, "owner")).toBe(1);
  expect(await contested(world, "holder")).toBe(0);
  world.advance(300 * S);
  expect(world.tainted).toEqual([]);
  expect(sentences(world, "a-0")).toContain(FOREIGN);

  replaceLease(world, world.node("a-0").metadata.uid);
  world.advance(30 * S);
  expect(sentences(world, "a-0").join()).not.toContain("lease");
  expect(await contested(world, "owner")).toBe(0);
});

test("a restarted process reads from the list whose lease it is", () => {
  const world = startedWorld();
  replaceLease(world, "gone");
  world.advance(30 * S);
  world.crash(10 * S);
  world.advance(30 * S);
  expect(sentences(world, "a-0")).toContain(FOREIGN);
});

test("two machines that renew one lease are named for five minutes, and count", async () => {
  const world = startedWorld();
  for (let turn = 0; turn < 4; turn++) {
    const spec = { holderIdentity: "b-7", renewTime: apiMicroTime(world.clock.wallMs()) };
    world.write({ verb: "patch", patch: "merge", ref: LEASE, urgency: Urgency.status, body: { spec } });
    world.advance(20 * S);
  }
  expect(sentences(world, "a-0")).toContain(SHARED);
  expect(await contested(world, "holder")).toBe(1);
  expect(await contested(world, "owner")).toBe(0);
  expect(world.tainted).toEqual([]);

  world.advance(310 * S);
  expect(sentences(world, "a-0").join()).not.toContain("lease");
  expect(await contested(world, "holder")).toBe(0);
});
