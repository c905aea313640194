/** A zone's queue: order, no duplicates, nodes that leave, grants that are repeated. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ZoneQueue } from "../../services/zone/zone.queue.ts";

/** Serves all nodes that may be granted now. Returns their names in order. */
function served(queue: ZoneQueue, now: number): string[] {
  const names: string[] = [];
  for (let head = queue.head(now); head !== null; head = queue.head(now)) {
    names.push(head.node);
    queue.remove(head.node);
  }
  return names;
}

const queueOf = (...names: string[]): ZoneQueue => {
  const queue = new ZoneQueue();
  for (const name of names) queue.add(name, `uid-${name}`);
  return queue;
};

describe("a zone's queue", () => {
  test("serves nodes in the order they came", () => {
    expect(served(queueOf("b", "a", "c"), 0)).toEqual(["b", "a", "c"]);
  });

  test("lists its first nodes in the order of service, delayed ones last", () => {
    const queue = queueOf("a", "b", "c", "d");
    queue.granted("a", "request", 200);
    queue.granted("b", "request", 100);
    expect(queue.first(10, 50)).toEqual(["c", "d", "b", "a"]);
    expect(queue.first(2, 50)).toEqual(["c", "d"]);
    expect(queue.first(3, 300)).toEqual(["c", "d", "a"]);
  });

  test("has one entry for each node (L42)", () => {
    const queue = queueOf("a", "b", "a", "a");
    expect(queue.size).toBe(2);
    expect(served(queue, 0)).toEqual(["a", "b"]);
  });

  test("puts a node with a new uid at the end", () => {
    const queue = queueOf("a", "b");
    queue.add("a", "uid-new");
    expect(queue.head(0)?.node).toBe("b");
    expect(queue.size).toBe(2);
  });

  test("keeps nothing of a removed node (L7, L8)", () => {
    const queue = queueOf("a");
    queue.remove("a");
    queue.remove("never");
    expect([queue.size, queue.head(0), queue.headAt()]).toEqual([0, null, Number.POSITIVE_INFINITY]);
  });

  test("puts a granted node last and delays its next grant (R7.7, L13)", () => {
    const queue = queueOf("a", "b");
    queue.granted("a", "request-1", 5000);
    expect(queue.head(0)?.node).toBe("b");
    expect(queue.headAt()).toBe(0);
    queue.remove("b");
    expect(queue.head(4999)).toBeNull();
    expect(queue.headAt()).toBe(5000);
    expect(queue.head(5000)).toMatchObject({ node: "a", grants: 1, requestId: "request-1" });
  });

  test("ignores a grant to a node that has left", () => {
    const queue = queueOf("a");
    queue.remove("a");
    queue.granted("a", "request-1", 5000);
    expect(queue.size).toBe(0);
  });
});

test("any sequence is served first come, first served, without duplicates (L7, L8)", () => {
  const name = fc.constantFrom("a", "b", "c", "d");
  const step = fc.oneof(
    fc.record({ kind: fc.constant("add" as const), name, uid: fc.constantFrom("1", "2") }),
    fc.record({ kind: fc.constant("remove" as const), name }),
    fc.record({ kind: fc.constant("grant" as const), name, againAt: fc.integer({ min: 1, max: 20 }) }),
  );
  fc.assert(
    fc.property(fc.array(step), fc.nat(25), (steps, now) => {
      const queue = new ZoneQueue();
      let model: { name: string; uid: string; notBefore: number }[] = [];
      for (const taken of steps) {
        const held = model.find((entry) => entry.name === taken.name);
        const rest = model.filter((entry) => entry !== held);
        if (taken.kind === "remove") {
          queue.remove(taken.name);
          model = rest;
        } else if (taken.kind === "add") {
          queue.add(taken.name, taken.uid);
          if (held?.uid !== taken.uid) model = [...rest, { name: taken.name, uid: taken.uid, notBefore: 0 }];
        } else {
          queue.granted(taken.name, "request", taken.againAt);
          if (held !== undefined) model = [...rest, { ...held, notBefore: taken.againAt }];
        }
      }
      expect(queue.size).toBe(model.length);
      expect(queue.head(now)?.node).toBe(model.find(({ notBefore }) => notBefore <= now)?.name);
      expect(queue.headAt() <= now).toBe(queue.head(now) !== null);
    }),
  );
});
