/** The rates of evictions on a bus that is split: each side reaches the API server and has an owner of the rates. */
import { expect, test } from "vitest";
import { LIMITS_LEASE } from "../../../protocols/names.ts";
import { Urgency } from "../../../protocols/ports.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import type { Call } from "../../../services/sandbox/apiserver/routes.ts";
import { EVICTING, EvictionWorld } from "../../support/eviction-world.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { mostInAMinute } from "./evictions-per-minute.ts";

const S = 1000;
const MINUTE = 60 * S;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const NODES = ["a-0", "a-1", "a-2"];

const LEASE = { kind: "Lease", ...LIMITS_LEASE } as const;
const isLease = ({ name, resource }: Call): boolean => resource.plural === "leases" && name === LIMITS_LEASE.name;

/** Two whole processes that do not hear each other, under a policy of three evictions a minute, and twelve pods. */
function splitWorld() {
  const world = new EvictionWorld();
  const policies = new HandPolicies({ evictions: { maxPerMinute: 3 } });
  world.addZone("a", 3);
  for (const node of NODES) for (let index = 0; index < 4; index++) world.addTolerantPod(node, `${node}-${index}`);
  const [left, right] = ["left", "right"].map((member) =>
    world.start(EVICTING, { member, policies, transport: memoryTransport(world.clock) }),
  );
  if (left === undefined || right === undefined) throw new Error("both were started");
  world.advance(100 * S);
  for (const node of NODES) world.taint(node, [MAINTENANCE]);
  return { world, left, right };
}

test("a rate holds over both sides", () => {
  const { world } = splitWorld();
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(12);
  expect(mostInAMinute(world.deleted)).toBe(3);
});

test("the other side goes on when the side that evicts dies", () => {
  const { world, left, right } = splitWorld();
  world.advance(1 * S);
  expect(world.deleted).toHaveLength(3);
  const [holder, other] = left.metrics.gaugeValue("vigil_limits_lease") === 1 ? [left, right] : [right, left];
  expect(other.metrics.gaugeValue("vigil_limits_lease")).toBe(0);
  holder.kill();
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(12);
  expect(mostInAMinute(world.deleted)).toBe(3);
});

/** One process under a policy of three evictions a minute, which has evicted the first three of twelve pods. */
function heldWorld() {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  for (const node of NODES) for (let index = 0; index < 4; index++) world.addTolerantPod(node, `${node}-${index}`);
  const policies = new HandPolicies({ evictions: { maxPerMinute: 3 } });
  const process = world.start(EVICTING, { policies });
  world.advance(100 * S);
  for (const node of NODES) world.taint(node, [MAINTENANCE]);
  world.advance(20 * S);
  expect(world.deleted).toHaveLength(3);
  return { world, policies, process };
}

test("nobody is permitted while the Lease cannot be renewed, and healing goes on", () => {
  const { world } = heldWorld();
  const mend = world.api.faults.add({ fault: { kind: "status", code: 503 }, when: isLease });
  world.advance(3 * MINUTE);
  expect(world.deleted).toHaveLength(3);
  world.silence(["a-0"]);
  world.advance(1 * MINUTE);
  world.revive(["a-0"]);
  world.advance(5 * S);
  expect(world.taints("a-0")).toEqual(["maintenance:NoExecute"]);
  mend();
  world.advance(10 * S);
  expect(world.deleted).toHaveLength(6);
  world.advance(10 * MINUTE);
  expect(mostInAMinute(world.deleted)).toBe(3);
});

test("an owner whose Lease was taken permits nobody, and waits afterwards", () => {
  const { world } = heldWorld();
  const thief = { holderIdentity: "thief_1", leaseDurationSeconds: 30, renewTime: null, acquireTime: null };
  world.patch(LEASE, { spec: thief });
  world.advance(30 * S + 89 * S);
  expect(world.deleted).toHaveLength(3);
  world.advance(10 * S);
  expect(world.deleted).toHaveLength(6);
});

test("what an owner hands over is taken from the Lease once", () => {
  const { world, policies } = heldWorld();
  policies.put(null);
  world.advance(1 * S);
  expect(world.deleted).toHaveLength(12);
  expect(world.read(LEASE)?.metadata.annotations).toHaveProperty(["vigil.v1/handover"]);
  policies.put({ evictions: { maxPerMinute: 3 } });
  world.advance(1 * S);
  expect(world.read(LEASE)?.metadata.annotations ?? {}).toEqual({});
});

test("without a rate nobody asks for the Lease", () => {
  let requests = 0;
  const world = new EvictionWorld();
  const count = (call: Call): boolean => {
    if (isLease(call) && call.name === LIMITS_LEASE.name) requests += 1;
    return false;
  };
  world.api.faults.add({ fault: { kind: "latency" }, when: count });
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod");
  const policies = new HandPolicies({ evictions: { method: "Evict" }, nodeMonitorGracePeriod: "30s" });
  const { metrics } = world.start(EVICTING, { policies });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(5 * MINUTE);
  expect(world.deleted).toHaveLength(1);
  expect(requests).toBe(0);
  expect(metrics.gaugeValue("vigil_limits_lease")).toBeNull();
});

test("a Lease that is deleted is created again, and no rate is exceeded", () => {
  const { world } = heldWorld();
  world.write({ verb: "delete", ref: LEASE, urgency: Urgency.status });
  world.advance(10 * MINUTE);
  expect(world.deleted).toHaveLength(12);
  expect(mostInAMinute(world.deleted)).toBe(3);
});

test.each([
  ["a count without an end", { counted: [["default", 1e15]] }],
  ["a count from the future", { countedForMs: -1e15 }],
  ["a pod that is due at no instant", { waiting: [["u", "default", "a-0", 1e18, 1e18]] }],
])("%s in the Lease holds nobody back for long", (_, edited) => {
  const world = new EvictionWorld();
  const handover = JSON.stringify([{ policy: "pool", countedForMs: 1e6, counted: [], waiting: [], ...edited }]);
  world.write({
    verb: "create",
    ref: LEASE,
    urgency: Urgency.status,
    body: {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { ...LIMITS_LEASE, annotations: { "vigil.v1/handover": handover } },
      spec: { holderIdentity: "" },
    },
  });
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod-0");
  world.start(EVICTING, { policies: new HandPolicies({ evictions: { maxPerMinute: 1 } }) });
  world.advance(10 * S);
  world.taint("a-0", [MAINTENANCE]);
  world.advance(90 * S);
  expect(world.deleted).toHaveLength(1);
});
