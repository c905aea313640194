/** A process that keeps deleted objects is found, in whatever field it keeps them. */
import { describe, expect, it } from "vitest";
import { holdingsOf } from "./heap.ts";
import { excess } from "./memory.ts";

class Keeper {
  readonly #byName = new Map<string, object>();
  readonly #order: object[] = [];

  keep(name: string): void {
    this.#byName.set(name, {});
    this.#order.push({});
  }

  forget(name: string): void {
    this.#byName.delete(name);
    this.#order.pop();
  }
}

/** A service that keeps names in a variable of its closure. */
function closure(): (name: string) => void {
  const names = new Set<string>();
  return (name) => names.add(name);
}

describe("what an object holds", () => {
  it("is found in private fields and in closures", () => {
    const [keeper, note] = [new Keeper(), closure()];
    for (const name of ["a", "b", "c"]) {
      keeper.keep(name);
      note(name);
    }
    const held = holdingsOf({ keeper, note }, []);
    expect(held.get("Keeper.#byName")).toBe(6);
    expect(held.get("Keeper.#order")).toBe(3);
    expect(held.get("closure.names")).toBe(3);
  });

  it("leaves out deleted entries and objects outside", () => {
    const keeper = new Keeper();
    for (const name of ["a", "b", "c"]) keeper.keep(name);
    keeper.forget("b");
    expect(holdingsOf({ keeper }, []).get("Keeper.#byName")).toBe(4);
    expect(holdingsOf({ keeper }, ["Keeper"]).get("Keeper.#byName")).toBeUndefined();
  });

  it("leaves out numbers, wherever V8 stores them", () => {
    const numbers = new Set([0.5, 1, 2 ** 40]);
    expect(holdingsOf({ note: () => numbers }, []).get("closure.numbers")).toBe(0);
  });
});

describe("a long-running process", () => {
  const fresh = new Map([["Zones.#actors", 4]]);

  it("may hold one more reference per existing object", () => {
    expect(excess(new Map([["Zones.#actors", 9]]), fresh, 5)).toEqual([]);
  });

  it("may hold an entry for each shard", () => {
    expect(excess(new Map([["Standby.#resyncs", 127]]), new Map([["Standby.#resyncs", 64]]), 5)).toEqual([]);
  });

  it("is caught when a collection holds more than that", () => {
    expect(excess(new Map([["Zones.#actors", 10]]), fresh, 5)).toEqual([
      "Zones.#actors holds 10 references, 4 after a restart",
    ]);
    expect(excess(new Map([["Zones.#gone", 6]]), fresh, 5)).toHaveLength(1);
  });
});
