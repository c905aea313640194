/** Scenarios of a fleet that grows: a ledger that joins repeats no Event that the others have published. */
import { expect, test } from "vitest";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { VirtualFleet } from "../support/virtual-fleet.ts";

const S = 1000;
const NODES = Array.from({ length: 12 }, (_, index) => `n-${index}`);

/** How often each node was reported as registered. */
function registrations(fleet: VirtualFleet): Record<string, number> {
  const events = fleet.api.store
    .collection("events")
    .sorted("")
    .map(({ json }) => JSON.parse(json))
    .filter(({ reason }) => reason === "RegisteredNode");
  const counts: Record<string, number> = {};
  for (const { involvedObject, count } of events) {
    counts[involvedObject.name] = (counts[involvedObject.name] ?? 0) + (count ?? 1);
  }
  return counts;
}

const onceEach = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1]));

function running(...members: string[]): VirtualFleet {
  const fleet = new VirtualFleet();
  for (const name of NODES) fleet.addNode({ name });
  for (const member of members) fleet.join(member);
  fleet.advance(60 * S);
  return fleet;
}

test.each([
  ["beside other services", SERVICE_NAMES],
  ["in a process of its own", ["ledger"] as const],
])("a ledger that joins, %s, registers only nodes that come later, once each", (_where, services) => {
  const fleet = running("a");
  expect(registrations(fleet)).toEqual(onceEach(NODES));
  fleet.join("b", services);
  fleet.advance(30 * S);
  expect(registrations(fleet)).toEqual(onceEach(NODES));
  const later = ["later-0", "later-1", "later-2", "later-3"];
  for (const name of later) fleet.addNode({ name });
  fleet.advance(10 * S);
  expect(registrations(fleet)).toEqual(onceEach([...NODES, ...later]));
});

test("ledgers that start together register each node once", () => {
  expect(registrations(running("a", "b", "c"))).toEqual(onceEach(NODES));
});

test("a lone ledger registers every node again, as kube-controller-manager does", () => {
  const fleet = running("a");
  fleet.members.get("a")?.kill();
  fleet.advance(60 * S);
  fleet.join("b");
  fleet.advance(30 * S);
  expect(registrations(fleet)).toEqual(Object.fromEntries(NODES.map((name) => [name, 2])));
});

test.each([
  ["beside other services", SERVICE_NAMES],
  ["in a process of its own", ["ledger"] as const],
])("a ledger that joins, %s, knows the pods that are counted down", (_where, services) => {
  const fleet = running("a");
  const tolerations = [{ key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 600 }];
  for (const nodeName of NODES) {
    const ref = { kind: "Pod", namespace: "default", name: `pod-of-${nodeName}` } as const;
    const spec = { nodeName, containers: [{ name: "c", image: "i" }], tolerations };
    fleet.write({ verb: "create", ref, urgency: 0, body: { apiVersion: "v1", kind: "Pod", metadata: ref, spec } });
    const taints = [{ key: "maintenance", effect: "NoExecute" }];
    fleet.patch({ kind: "Node", namespace: "", name: nodeName }, { spec: { taints } });
  }
  fleet.advance(10 * S);
  const { metrics } = fleet.join("b", services);
  fleet.advance(30 * S);
  expect(metrics.gaugeValue("vigil_pending_evictions")).toBe(NODES.length);
});
