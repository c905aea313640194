/** A reader's view of a shard: when it is complete, what makes it suspect, and how departed nodes are found. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../../protocols/digest.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { ShardView } from "../../../services/platform/shard-view/shard-view.ts";
import { isOlderVersion } from "../../../services/structures/resource-version.ts";
import { nodeWith } from "../../node/node-fixtures.ts";
import { observedPod } from "../../support/observed-objects.ts";

const PROFILE = { pulsePeriodMs: 1_000, pulseTimeoutMs: 4_000, watchBlindMs: 10_000, resyncRetryMs: 1_000 };
const SEEN = { synced: true, since: 0 };
const WATCHES = { nodes: SEEN, leases: SEEN, pods: SEEN };

function view(): ShardView {
  return new ShardView({ needs: ["nodes", "leases"], holdsPods: true, profile: PROFILE, beganMs: 0 });
}

function named(name: string, resourceVersion = "1", ready: "True" | "False" = "True"): ObservedNode {
  return nodeWith(ready, { node: name, uid: `uid-${name}`, resourceVersion });
}

/** A pulse over these nodes and pod versions; `cause` names the request whose resync it ends. */
function pulse(
  nodes: readonly ObservedNode[],
  options: { pods?: Record<string, string>; resyncs?: number; cause?: string; publisher?: string; at?: number } = {},
) {
  const { pods = {}, resyncs = 1, cause = null, publisher = "observer@a", at = 0 } = options;
  const published = nodes.map((node) => [node.node, nodeVersion(node)] as const);
  const body: BodyOf<"observed.pulse"> = {
    shard: 0,
    watches: WATCHES,
    nodes: published.reduce((digest, [name, version]) => digestWith(digest, name, version), EMPTY_DIGEST),
    pods: Object.entries(pods).reduce((digest, [name, version]) => digestWith(digest, name, version), EMPTY_DIGEST),
    resyncs,
  };
  return { id: `${publisher}:1:observed.pulse.0:1`, source: publisher, at, cause, body };
}

function pods(node: string, version: string, chunk = 0, chunks = 1): BodyOf<"observed.pods"> {
  return { node, version, chunk, chunks, pods: [observedPod(`${node}-${chunk}`)] };
}

describe("a view is complete", () => {
  test("once a resync has ended and the digests agree", () => {
    const held = view();
    expect(held.blindness(0)).toBe("no pulse from the observer");
    held.onNode(named("a"));
    held.onPulse(pulse([named("a")]), 0);
    expect(held.blindness(0)).toBe("not synced yet");
    held.onPulse(pulse([named("a")], { cause: "ask", resyncs: 2 }), 0);
    expect(held.blindness(0)).toBeNull();
  });

  test("while changes follow the pulse", () => {
    const held = view();
    held.onPulse(pulse([], { cause: "ask" }), 0);
    held.onNode(named("a"));
    expect(held.blindness(0)).toBeNull();
    held.onPulse(pulse([named("a")]), 1_000);
    expect(held.blindness(1_000)).toBeNull();
  });

  test("not with a node missing, too many, or of another version", () => {
    for (const [kept, published] of [
      [[], [named("a")]],
      [[named("a")], []],
      [[named("a", "1")], [named("a", "2")]],
      [[named("a")], [{ ...named("a"), policyLabels: 1 }]],
    ] as const) {
      const held = view();
      held.onPulse(pulse([], { cause: "ask" }), 0);
      for (const node of kept) held.onNode(node);
      held.onPulse(pulse(published), 1_000);
      expect(held.blindness(1_000)).toBe("messages are missing");
    }
  });

  test("again when a message arrives that its pulse overtook", () => {
    const held = view();
    held.onPulse(pulse([], { cause: "ask" }), 0);
    held.onPulse(pulse([named("a")]), 1_000);
    expect(held.blindness(1_000)).toBe("messages are missing");
    held.onNode(named("a"));
    expect(held.blindness(1_000)).toBeNull();
  });

  test("not after a gap, until a resync has ended", () => {
    const held = view();
    held.onPulse(pulse([], { cause: "ask" }), 0);
    held.markSuspect("messages went missing");
    held.onPulse(pulse([]), 1_000);
    expect(held.blindness(1_000)).toBe("messages went missing");
    held.onPulse(pulse([], { resyncs: 2 }), 2_000);
    expect(held.blindness(2_000)).toBeNull();
  });

  test("with a new observer if its first pulse ends a resync", () => {
    const held = view();
    held.onPulse(pulse([], { cause: "ask", resyncs: 5 }), 0);
    held.onPulse(pulse([], { publisher: "observer@b", resyncs: 1 }), 1_000);
    expect(held.blindness(1_000)).toBeNull();
    held.onPulse(pulse([], { publisher: "observer@c", resyncs: 2 }), 2_000);
    expect(held.blindness(2_000)).toBe("another observer took over");
  });
});

describe("a resync is requested", () => {
  test("at first, and again no sooner than resyncRetryMs", () => {
    const held = view();
    expect(held.resyncReason(0)).toBe("not synced yet");
    expect(held.resyncReason(999)).toBeNull();
    expect(held.resyncReason(1_000)).toBe("not synced yet");
  });

  test("at once from an observer that has just started", () => {
    const held = view();
    held.onPulse(pulse([], { cause: "ask", resyncs: 5 }), 0);
    held.markSuspect("messages went missing");
    expect(held.resyncReason(0)).toBe("messages went missing");
    held.onPulse(pulse([], { publisher: "observer@b", resyncs: 0 }), 100);
    expect(held.resyncReason(100)).not.toBeNull();
    held.onPulse(pulse([], { publisher: "observer@b", resyncs: 0 }), 200);
    expect(held.resyncReason(200)).toBeNull();
  });

  test("neither by a complete view nor from an unsynced observer", () => {
    const held = view();
    held.onPulse(pulse([], { cause: "ask" }), 0);
    expect(held.resyncReason(5_000)).toBeNull();
    const blind = pulse([named("a")]);
    const body = { ...blind.body, watches: { ...WATCHES, nodes: { synced: false, since: null } } };
    held.onPulse({ ...blind, body }, 6_000);
    expect(held.resyncReason(6_000)).toBeNull();
    expect(held.blindness(6_000)).toBe("the watch of nodes is not synced");
  });
});

describe("departed nodes", () => {
  test("are dropped if a resync omits them and the digest agrees", () => {
    const held = view();
    for (const name of ["a", "b", "c"]) held.onNode(named(name));
    held.resyncReason(0);
    held.onNode(named("b"));
    expect(held.onPulse(pulse([named("b")], { cause: "ask" }), 0).map(({ node }) => node)).toEqual(["a", "c"]);
    expect([...held.nodes()].map(({ node }) => node)).toEqual(["b"]);
    expect(held.blindness(0)).toBeNull();
  });

  test("are kept if the digest does not agree", () => {
    const held = view();
    for (const name of ["a", "b"]) held.onNode(named(name));
    held.resyncReason(0);
    expect(held.onPulse(pulse([named("b")], { cause: "ask" }), 0)).toEqual([]);
    expect(held.size).toBe(2);
    expect(held.blindness(0)).toBe("messages are missing");
  });

  test("are dropped by uid, not by name", () => {
    const held = view();
    held.onNode(named("a"));
    expect(held.onGone({ node: "a", uid: "uid-before" })).toBeNull();
    expect(held.onGone({ node: "a", uid: "uid-a" })?.node).toBe("a");
    expect(held.onGone({ node: "a", uid: "uid-a" })).toBeNull();
  });
});

describe("pods", () => {
  test("count once all chunks of one version have arrived, in any order", () => {
    const held = view();
    held.onNode(named("a", "1", "False"));
    expect(held.onPods(pods("a", "v1", 1, 2))).toBeNull();
    expect(held.pods("a")).toBeNull();
    expect(held.onPods(pods("a", "v1", 0, 2))?.pods.map(({ name }) => name)).toEqual(["a-0", "a-1"]);
    expect(held.pods("a")?.version).toBe("v1");
  });

  test("of a newer version replace an incomplete older one", () => {
    const held = view();
    held.onNode(named("a", "1", "False"));
    held.onPods(pods("a", "v1", 0, 2));
    held.onPods(pods("a", "v2", 0, 2));
    expect(held.onPods(pods("a", "v1", 1, 2))).toBeNull();
    expect(held.pods("a")).toBeNull();
  });

  test("count towards completeness while their node needs them", () => {
    const held = view();
    const [down, well] = [named("a", "1", "False"), named("a", "2", "True")];
    held.onNode(down);
    held.onPulse(pulse([down], { cause: "ask", pods: { a: "v1" } }), 0);
    expect(held.blindness(0)).toBe("messages are missing");
    held.onPods(pods("a", "v1"));
    expect(held.blindness(0)).toBeNull();
    held.onNode(well);
    expect(held.pods("a")).toBeNull();
    held.onPulse(pulse([well]), 1_000);
    expect(held.blindness(1_000)).toBeNull();
  });

  test("of unknown or unneeded nodes, and impossible chunks, are dropped", () => {
    const held = view();
    expect(held.onPods(pods("a", "v1"))).toBeNull();
    held.onNode(named("a"));
    expect(held.onPods(pods("a", "v1"))).toBeNull();
    held.onNode(named("a", "2", "False"));
    for (const [chunk, chunks] of [
      [1, 1],
      [-1, 1],
      [0, 0],
      [0.5, 1],
      [0, 1e9],
    ] as const) {
      expect(held.onPods(pods("a", "v1", chunk, chunks))).toBeNull();
    }
    expect(held.pods("a")).toBeNull();
  });
});

describe("an older state", () => {
  const RESUMED = "observer@resumed";

  /** Follows observer@a and holds one node in version 2252. */
  function followed(resourceVersion = "2252"): ShardView {
    const held = view();
    const node = named("a", resourceVersion);
    held.onNode(node);
    held.onPulse(pulse([node], { cause: "ask" }), 0);
    return held;
  }

  function state(resourceVersion: string, publisher = RESUMED, uid = "uid-a") {
    return { id: `${publisher}:1:observed.node.0:1`, body: { ...named("a", resourceVersion), uid } };
  }

  test("of a second observer is outdated, also under another uid", () => {
    for (const uid of ["uid-a", "uid-before"]) {
      expect(followed().isOutdated(state("1612", RESUMED, uid))).toBe(true);
      expect(followed().isOutdated(state("999", RESUMED, uid))).toBe(true);
    }
  });

  test("of a second observer that pulses beside the first is outdated", () => {
    const held = followed();
    held.onPulse(pulse([named("a", "1610")], { publisher: RESUMED }), 3_000);
    expect(held.isOutdated(state("1612"))).toBe(true);
    expect(held.blindness(3_000)).toBe("messages are missing");
  });

  test("counts once the observer before was silent for --pulse-timeout", () => {
    const held = followed();
    held.onPulse(pulse([named("a", "1610")], { publisher: RESUMED, resyncs: 3 }), 3_999);
    expect(held.resyncReason(3_999)).not.toBeNull();
    held.onPulse(pulse([named("a", "1610")], { publisher: RESUMED, resyncs: 3 }), 4_000);
    expect(held.isOutdated(state("1612"))).toBe(false);
    // What was left out before has to be published again.
    expect(held.resyncReason(4_000)).not.toBeNull();
    expect(held.isOutdated(state("999", "observer@a"))).toBe(true);
  });

  test("of the observer that it follows counts: a store may be restored", () => {
    const held = followed();
    held.onPulse(pulse([named("a", "1610")], { publisher: RESUMED }), 3_000);
    expect(held.isOutdated(state("1612", "observer@a"))).toBe(false);
  });

  test("counts before the first pulse", () => {
    const held = view();
    held.onNode(named("a", "2252"));
    expect(held.isOutdated(state("1612"))).toBe(false);
  });

  test.each([
    ["2252", "2252"],
    ["2252", "10001"],
    ["2252", "not a number"],
    ["2252", ""],
    ["2252", "0999"],
    ["not a number", "1612"],
    ["99999999999999999998", "99999999999999999999"],
  ])("than version %s is not %s", (version, next) => {
    expect(followed(version).isOutdated(state(next))).toBe(false);
  });

  test("is older by its number, however long that is", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.bigInt({ min: 1n, max: 10n ** 30n }), (left, right) => {
        expect(isOlderVersion(String(left), String(right))).toBe(left < right);
      }),
    );
  });
});

test("after any lost changes, one resync makes the view equal to the cluster", () => {
  const names = ["a", "b", "c", "d"];
  const change = fc.record({ name: fc.constantFrom(...names), isGone: fc.boolean(), isLost: fc.boolean() });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const held = view();
      const world = new Map<string, ObservedNode>();
      for (const [version, { name, isGone, isLost }] of changes.entries()) {
        const node = named(name, String(version));
        if (isGone) world.delete(name);
        else world.set(name, node);
        if (isLost) continue;
        if (isGone) held.onGone({ node: name, uid: node.uid });
        else held.onNode(node);
      }
      held.resyncReason(0);
      for (const node of world.values()) held.onNode(node);
      held.onPulse(pulse([...world.values()], { cause: "ask" }), 0);
      expect(held.blindness(0)).toBeNull();
      expect([...held.nodes()].map(({ node }) => node).toSorted()).toEqual([...world.keys()].toSorted());
    }),
  );
});
