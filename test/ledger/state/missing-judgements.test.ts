/** A ledger that missed a judgement requests a resync, where a process judges nodes. */
import { describe, expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../../protocols/digest.ts";
import type { BodyOf, Message } from "../../../protocols/messages.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { zoneKeyOf } from "../../../services/domain/zone-key.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { judgedNode, judgedPod, type LedgerWorld, ledgerWorld, pulse, UNREACHABLE } from "../ledger-world.ts";

interface ReasonsIn {
  readonly profile: Partial<Profile>;
  readonly seconds: number;
  readonly policies: HandPolicies;
}

/** The reasons of the requested resyncs, with an observed node and a pulse every second for so many seconds. */
function reasonsAfter(
  prepare: (world: LedgerWorld) => void,
  { profile = {}, seconds = 6, policies = new HandPolicies() }: Partial<ReasonsIn> = {},
): string[] {
  const world = ledgerWorld({ profile, policies });
  const { io, transport } = world;
  const bus = typedBus({ ...io, transport, cluster: "test", service: "node", member: "m-1", mailboxMessagesMax: 100 });
  const asked: Message<"asked.resync">[] = [];
  bus.subscribe("asked.resync", "all", (message) => asked.push(message));
  world.receive("observed.node", observedNode("n-1"), null);
  prepare(world);
  const nodes = digestWith(EMPTY_DIGEST, "n-1", nodeVersion(observedNode("n-1")));
  for (let second = 0; second <= seconds; second++) {
    world.receive("observed.pulse", pulse(shardOf("n-1"), { nodes }), "ask");
    world.clock.advance(1000);
  }
  return asked.map(({ body }) => body.reason);
}

const REASON = "a judgement is missing or contradicts its observation";
const JUDGED = judgedNode("n-1", { zone: "" });

test("a lost judgement leads to resync requests with backoff", () => {
  const reasons = reasonsAfter(({ receive }) => receive("judged.node", judgedNode("n-2"), null));
  expect(reasons[0]).toBe(REASON);
  expect(reasons.length).toBeLessThan(4);
});

test("a ledger that started after every judgement requests them", () => {
  const member = { member: "m-0", services: ["node"], since: 0, leaving: false };
  expect(reasonsAfter(({ receiveAs }) => receiveAs("fleet", "pulse.member", member, null))[0]).toBe(REASON);
});

test.each([
  ["is asked for the deadlines of its pods once", {}, true, 1],
  ["is not in direct mode", { evictionMode: "direct" }, true, 0],
  ["nor beside upstream", { upstream: "beside" }, true, 0],
  ["nor without a taint", {}, false, 0],
] as const)("the shard of a node that was tainted before it was known %s", (_what, profile, isTainted, times) => {
  const world = ledgerWorld({ profile });
  const { io, transport } = world;
  const bus = typedBus({ ...io, transport, cluster: "test", service: "node", member: "m-1", mailboxMessagesMax: 100 });
  const reasons: string[] = [];
  bus.subscribe("asked.resync", "all", ({ body }) => reasons.push(body.reason));
  const node = observedNode("n-1", { taints: isTainted ? [UNREACHABLE] : [] });
  world.receive("observed.node", node, null);
  const nodes = digestWith(EMPTY_DIGEST, "n-1", nodeVersion(node));
  for (let second = 0; second <= 6; second++) {
    world.receive("observed.pulse", pulse(shardOf("n-1"), { nodes }), "ask");
    world.clock.advance(1000);
  }
  expect(reasons).toEqual(Array(times).fill("deadlines of its pods may be older than this ledger"));
});

test("so does a judgement that contradicts the observation for long", () => {
  const unknown = { ...JUDGED, readiness: "unknown", ready: "Unknown" } as const;
  // The judgement after the recovery of the node was lost.
  const recovered = reasonsAfter(({ receive }) => {
    receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    receive("judged.node", unknown, null);
    receive("observed.node", observedNode("n-1"), null);
  });
  expect(recovered[0]).toBe(REASON);
  // The judgement that withdraws a verdict was lost.
  const withdrawn = reasonsAfter(({ receive }) => {
    receive("judged.node", JUDGED, null);
    receive("judged.node", unknown, null);
  });
  expect(withdrawn[0]).toBe(REASON);
  const moved = reasonsAfter(({ receive }) => {
    receive("judged.node", JUDGED, null);
    receive("observed.node", observedNode("n-1", { labels: { "topology.kubernetes.io/zone": "b" } }), null);
  });
  expect(moved[0]).toBe(REASON);
});

test("so does one that names another policy or another disruption domain of its zone", () => {
  const labels = { "topology.kubernetes.io/zone": "a" };
  const zone = zoneKeyOf(labels);
  const policies = new HandPolicies({ nodeEvictionRate: 1 });
  const fitting = judgedNode("n-1", { zone: `${zone}\u0000@pool`, policy: "pool" });
  const prepare = ({ receive }: LedgerWorld) => {
    receive("observed.node", observedNode("n-1", { labels }), null);
    receive("judged.node", fitting, null);
  };
  expect(reasonsAfter(prepare, { policies })).toEqual([]);
  const moved = reasonsAfter(
    (world) => {
      prepare(world);
      world.receive("judged.node", { ...fitting, zone }, null);
    },
    { policies },
  );
  expect(moved[0]).toBe(REASON);
  const changed = reasonsAfter(
    (world) => {
      prepare(world);
      policies.put({});
    },
    { policies },
  );
  expect(changed[0]).toBe(REASON);
});

test("so does a drain whose wait is no longer repeated, in direct mode", () => {
  const profile = { evictionMode: "direct", askRetryMaxMs: 10_000 } as const;
  const waiting = judgedNode("n-1", { zone: "", readiness: "unknown", ready: "Unknown", eviction: "toBeEvicted" });
  const prepare = ({ receive }: LedgerWorld) => {
    receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    receive("judged.node", waiting, null);
  };
  expect(reasonsAfter(prepare, { profile, seconds: 12 })).toEqual([]);
  expect(reasonsAfter(prepare, { profile, seconds: 14 })).toEqual([REASON]);
});

test("so does a drain that was to begin, in direct mode", () => {
  const profile = { evictionMode: "direct", askRetryMaxMs: 10_000 } as const;
  const prepare = ({ receive, clock }: LedgerWorld) => {
    receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
    const ofNode = {
      zone: "",
      readiness: "unknown",
      ready: "Unknown",
      evictionFromAt: clock.wallMs() + 5_000,
    } as const;
    receive("judged.node", judgedNode("n-1", ofNode), null);
  };
  expect(reasonsAfter(prepare, { profile, seconds: 17 })).toEqual([]);
  expect(reasonsAfter(prepare, { profile, seconds: 18 })).toEqual([REASON]);
  expect(reasonsAfter(prepare, { seconds: 30 })).toEqual([]);
});

describe("a judgement until some instant", () => {
  const inMs = (world: LedgerWorld, ms: number) => world.clock.wallMs() + ms;
  const CONDITION = { type: "Bad", taint: { key: "vigil.io/bad", effect: "NoExecute" }, state: "waiting" } as const;
  const until: Record<string, (untilAt: number) => Partial<BodyOf<"judged.node">>> = {
    "a delayed node": (untilAt) => ({ unhealthyDelay: { untilAt } }),
    "a held taint": (untilAt) => ({ taintHold: { field: "healthyDelay", untilAt } }),
    "a maintenance": (untilAt) => ({ maintenance: { types: ["DrainInProgress"], sinceAt: 0, untilAt } }),
    "a condition": (untilAt) => ({ conditions: [{ ...CONDITION, untilAt }] }),
    "a proof": (fromAt) => ({ outOfService: { state: "waits", fromAt } }),
  };

  test.each(Object.entries(until))("leads to a resync if none follows: %s", (_what, judgedUntil) => {
    const prepare = (world: LedgerWorld) => {
      world.receive("judged.node", { ...JUDGED, ...judgedUntil(inMs(world, 5_000)) }, null);
    };
    expect(reasonsAfter(prepare, { seconds: 7 })).toEqual([]);
    expect(reasonsAfter(prepare, { seconds: 9 })).toEqual([REASON]);
  });

  test("leads to none if one follows, or if that is past", () => {
    const ended = (world: LedgerWorld) => {
      world.receive("judged.node", { ...JUDGED, ...until["a maintenance"]?.(inMs(world, 5_000)) }, null);
      world.receive("judged.node", JUDGED, null);
    };
    expect(reasonsAfter(ended, { seconds: 20 })).toEqual([]);
    const past = (world: LedgerWorld) => {
      world.receive("judged.node", { ...JUDGED, ...until["a proof"]?.(inMs(world, -1)) }, null);
    };
    expect(reasonsAfter(past, { seconds: 20 })).toEqual([]);
  });
});

describe("an overdue pod", () => {
  const prepare =
    (...later: Partial<BodyOf<"judged.pod">>[]) =>
    ({ receive, clock }: LedgerWorld) => {
      const pending = judgedPod({ deadlineAt: clock.wallMs() + 5_000 });
      for (const fields of [{}, ...later]) receive("judged.pod", { ...pending, ...fields }, null);
    };
  const stays = { eviction: "none", deadlineAt: null, taint: null, tolerationSeconds: null } as const;

  test("leads to a resync where nobody requests its eviction", () => {
    expect(reasonsAfter(prepare(), { seconds: 7 })).toEqual([]);
    expect(reasonsAfter(prepare(), { seconds: 9 })).toEqual([REASON]);
  });

  test.each<[string, Partial<BodyOf<"judged.pod">>]>([
    ["it is due", { eviction: "due" }],
    ["it may stay", stays],
    ["its countdown stands still", { deadlineAt: null }],
  ])("leads to none where it was judged that %s", (_what, later) => {
    expect(reasonsAfter(prepare(later), { seconds: 20 })).toEqual([]);
  });

  test("leads to no more once it is forgotten", () => {
    const minutes = (count: number) => reasonsAfter(prepare(), { seconds: count * 60 }).length;
    expect(minutes(7)).toBeGreaterThan(3);
    expect(minutes(20)).toBe(minutes(7));
  });

  test("leads to none once its node is gone", () => {
    const gone = (world: LedgerWorld) => {
      prepare()(world);
      world.receive("observed.gone", { node: "n-1", uid: observedNode("n-1").uid }, null);
    };
    expect(reasonsAfter(gone, { seconds: 20 }).filter((reason) => reason === REASON)).toEqual([]);
  });
});

test("a judgement that fits needs no resync, nor does a fleet that judges no nodes", () => {
  expect(reasonsAfter(({ receive }) => receive("judged.node", JUDGED, null))).toEqual([]);
  expect(reasonsAfter(() => {})).toEqual([]);
});
