/** Buckets, history and collections, compared with plain models of each. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { History } from "../../../services/sandbox/apiserver/store/change-history.ts";
import { NamespaceBucket } from "../../../services/sandbox/apiserver/store/namespace-bucket.ts";
import { Store } from "../../../services/sandbox/apiserver/store/store.ts";
import { Change, Stored } from "../../../services/sandbox/apiserver/store/stored.ts";

function stored(name: string, revision: number, more: { namespace?: string; node?: string } = {}): Stored {
  const { namespace = "", node = "" } = more;
  const json = JSON.stringify({ metadata: { name, resourceVersion: String(revision) } });
  return new Stored({ namespace, name, uid: name, revision, json, node, phase: "", terminating: false });
}

test("a bucket lists its objects by name after any changes", () => {
  const step = fc.record({
    name: fc.constantFrom("a", "b", "c", "a-b", "a.b", "z"),
    keep: fc.boolean(),
    list: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const bucket = new NamespaceBucket();
      const model = new Map<string, Stored>();
      for (const [index, { name, keep, list }] of steps.entries()) {
        const one = stored(name, index);
        if (keep) bucket.set(name, one);
        else bucket.delete(name);
        if (keep) model.set(name, one);
        else model.delete(name);
        const listed: Stored[] = [];
        if (list) bucket.collect(listed);
        const expected = [...model.keys()].sort().map((key) => model.get(key));
        if (list) expect(listed).toEqual(expected);
        expect(bucket.size).toBe(model.size);
      }
    }),
  );
});

test("a history gives every change after a revision, or null if some were dropped", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 0, max: 12 }),
      (size, count, compacted) => {
        const history = new History(size);
        for (let revision = 1; revision <= count; revision++)
          history.add(new Change("ADDED", stored("x", revision), null));
        history.compact(compacted);
        const forgotten = Math.max(compacted, count - size, 0);
        for (let from = 0; from <= count; from++) {
          const after = history.after(from)?.map(({ now }) => now.revision) ?? null;
          const expected = Array.from({ length: count - from }, (_, index) => from + index + 1);
          expect(after).toEqual(from < forgotten ? null : expected);
        }
      },
    ),
  );
});

describe("a collection", () => {
  test("lists by namespace and then by name, as keys with slashes sort", () => {
    const store = new Store({ changesMax: 10 });
    for (const [index, namespace] of ["b", "a", "a-b", "a.b"].entries()) {
      store.put("pods", stored("p", index + 2, { namespace }));
    }
    const listed = store.collection("pods").sorted("");
    expect(listed.map(({ namespace }) => namespace)).toEqual(["a-b", "a.b", "a", "b"]);
    expect(store.collection("pods").size).toBe(4);
  });

  test("indexes the present pods of a node", () => {
    const store = new Store({ changesMax: 10 });
    const pods = store.collection("pods");
    store.put("pods", stored("b", 2, { namespace: "x", node: "n-1" }));
    store.put("pods", stored("a", 3, { namespace: "x", node: "n-1" }));
    store.put("pods", stored("b", 4, { namespace: "x", node: "n-2" }));
    expect(pods.onNode("n-1").map(({ name }) => name)).toEqual(["a"]);
    expect(pods.onNode("n-2").map(({ revision }) => revision)).toEqual([4]);
    store.remove("pods", stored("a", 5, { namespace: "x", node: "n-1" }));
    expect(pods.onNode("n-1")).toEqual([]);
    expect(pods.size).toBe(1);
  });

  test("calls listeners with each change and the state before", () => {
    const store = new Store({ changesMax: 10 });
    const seen: string[] = [];
    const stop = store.collection("nodes").listen(({ type, now, before }) => {
      seen.push(`${type} ${now.revision} after ${before?.revision ?? "nothing"}`);
    });
    store.put("nodes", stored("n", 2));
    store.put("nodes", stored("n", 3));
    store.remove("nodes", stored("n", 4));
    store.remove("nodes", stored("n", 5));
    stop();
    store.put("nodes", stored("n", 6));
    expect(seen).toEqual(["ADDED 2 after nothing", "MODIFIED 3 after 2", "DELETED 4 after 3"]);
  });
});

test("the bytes of a change are built once for all watchers", () => {
  const change = new Change("MODIFIED", stored("n", 7), null);
  expect(change.line("MODIFIED")).toBe(change.line("MODIFIED"));
  expect(Buffer.from(change.line("ADDED")).toString()).toBe(
    '{"type":"ADDED","object":{"metadata":{"name":"n","resourceVersion":"7"}}}\n',
  );
});
