/** Pods by node: versions depend on the contents, not on the order of events. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { BoundPod } from "../../protocols/ports.ts";
import { PodIndex } from "../../services/observer/pod-index.ts";
import { observedPod } from "../support/observed-objects.ts";

function bound(node: string, name: string, resourceVersion = "1"): BoundPod {
  return { node, resourceVersion, pod: observedPod(name) };
}

test("a node has the empty version before its first and after its last pod", () => {
  const index = new PodIndex();
  expect(index.versionOf("a")).toBe("0.0");
  index.put(bound("a", "one"));
  index.remove(bound("a", "one"));
  index.remove(bound("a", "one"));
  expect(index.versionOf("a")).toBe("0.0");
  expect(index.podsOf("a")).toEqual([]);
});

test("a changed pod is held once and changes the version", () => {
  const index = new PodIndex();
  index.put(bound("a", "one", "1"));
  const before = index.versionOf("a");
  index.put(bound("a", "one", "2"));
  expect(index.podsOf("a").map(({ name }) => name)).toEqual(["one"]);
  expect(index.versionOf("a")).not.toBe(before);
});

test("changes of two pods at once do not cancel each other out", () => {
  const uids = Array.from({ length: 60 }, (_, index) => `pod-${index}`);
  const pairs = uids.flatMap((left, index) => uids.slice(index + 1).map((right) => [left, right] as const));
  const versionAt = (pair: readonly string[], resourceVersions: readonly string[]): string => {
    const index = new PodIndex();
    for (const [at, uid] of pair.entries()) index.put(bound("a", uid, resourceVersions[at]));
    return index.versionOf("a");
  };
  const unchanged = pairs.filter((pair) => versionAt(pair, ["105", "106"]) === versionAt(pair, ["107", "108"]));
  expect(unchanged).toEqual([]);
});

test("removing another pod of the same name removes nothing", () => {
  const index = new PodIndex();
  index.put(bound("a", "one"));
  index.remove({ ...bound("a", "one"), pod: observedPod("one", { uid: "another" }) });
  expect(index.podsOf("a")).toHaveLength(1);
});

test("after any events the index equals a plain map; same contents have one version", () => {
  const event = fc.record({
    node: fc.constantFrom("a", "b"),
    name: fc.constantFrom("one", "two", "three"),
    version: fc.constantFrom("1", "2"),
    isGone: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const index = new PodIndex();
      const plain = new Map<string, BoundPod>();
      for (const { node, name, version, isGone } of events) {
        const pod = bound(node, name, version);
        if (isGone) index.remove(pod);
        else index.put(pod);
        if (isGone) plain.delete(`${node}/${name}`);
        else plain.set(`${node}/${name}`, pod);
      }
      const fresh = new PodIndex();
      for (const pod of plain.values()) fresh.put(pod);
      for (const node of ["a", "b"]) {
        expect(
          index
            .podsOf(node)
            .map(({ name }) => name)
            .toSorted(),
        ).toEqual(
          fresh
            .podsOf(node)
            .map(({ name }) => name)
            .toSorted(),
        );
        expect(index.versionOf(node)).toBe(fresh.versionOf(node));
      }
    }),
  );
});
