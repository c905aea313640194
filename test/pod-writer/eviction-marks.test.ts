/** The condition of an evicted pod on API servers of several versions: as the upstream of each version has it (D13). */
import { expect, test } from "vitest";
import type { Clock, Wire } from "../../protocols/ports.ts";
import { marksEvictions } from "../../services/pod-writer/pod-writer.policy.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

test.each([
  [20, false],
  [25, false],
  [26, true],
  [36, true],
  [null, true],
])("an API server of version 1.%s: evicted pods are marked: %s", (minor, isMarking) => {
  expect(marksEvictions(minor)).toBe(isMarking);
});

/** The wire to a server that answers `/version` like this. */
function versioned(wire: Wire, clock: Clock, status: number, body: object): Wire {
  return {
    send: (request, exchange) => {
      if (request.path !== "/version") return wire.send(request, exchange);
      clock.soon(() => {
        exchange.response(status, {});
        exchange.data(Buffer.from(JSON.stringify(body)));
        exchange.end();
      });
      return { abort: () => {} };
    },
  };
}

/** Evicts 40 pods of one node. Returns each kind of request about the node or a pod with its number. */
function evict(status: number, version: object): Record<string, number> {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  for (let index = 0; index < 40; index++) world.addTolerantPod("a-0", `pod-${index}`);
  world.start(EVICTING, { wireOver: (wire) => versioned(wire, world.clock, status, version) });
  world.advance(10 * S);
  const counts: Record<string, number> = {};
  const note = ({ verb, name }: { verb: string; name: string }): boolean => {
    const call = `${verb} ${name.replace(/pod-\d+/, "pod-N")}`;
    if (name === "a-0" || name.startsWith("pod-")) counts[call] = (counts[call] ?? 0) + 1;
    return false;
  };
  world.api.faults.add({ fault: { kind: "stall" }, when: note });
  world.taint("a-0", [MAINTENANCE]);
  world.advance(0);
  expect(world.deleted).toHaveLength(40);
  return counts;
}

test("before 1.26 an eviction is one request and a share of one live read", () => {
  expect(evict(200, { major: "1", minor: "25" })).toEqual({ "patch a-0": 1, "get a-0": 1, "delete pod-N": 40 });
});

test("from 1.26 on the pod is marked first, whatever a provider adds to the number", () => {
  const counts = { "patch a-0": 1, "get a-0": 1, "patch pod-N": 40, "delete pod-N": 40 };
  expect(evict(200, { major: "1", minor: "26+" })).toEqual(counts);
});

test("a server that does not say its version may be a newer one", () => {
  expect(evict(403, { kind: "Status" })["patch pod-N"]).toBe(40);
});
