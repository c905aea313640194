/** The rules about deletions of pods whose nodes may be alive, with both sides of each boundary. */
import { describe, expect, it } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { profileGrace } from "./graces.ts";
import { Heard } from "./heard.ts";
import type { CheckedNode, CheckedPod, WriteContext } from "./invariants.ts";
import { checkHeard } from "./outage-checks.ts";
import { RepeatedDeletions } from "./repeated-deletions.ts";
import { drawSwarm } from "./swarm.ts";

const S = 1000;
const GRACE_S = 50;
const profile = { ...STANDARD_PROFILE, nodeMonitorGraceMs: GRACE_S * S, evictionMode: "taint" as const };
const { policies: _, ...swarm } = { ...drawSwarm(1), profile };

const POD: CheckedPod = {
  metadata: { namespace: "default", name: "pod-1", uid: "u", creationTimestamp: new Date(0).toISOString() },
  spec: { nodeName: "n1", tolerations: [] },
};

function node(...keys: readonly string[]): CheckedNode {
  const taints = keys.map((key) => ({ key, effect: "NoExecute", timeAdded: new Date(0).toISOString() }));
  return { metadata: { name: "n1", uid: "n" }, spec: { taints }, status: { conditions: [] } };
}

const UNREACHABLE = node("node.kubernetes.io/unreachable");
const NOT_READY = node("node.kubernetes.io/not-ready");

function deletionAt(second: number, on: CheckedNode, heard: Heard): () => void {
  const context: WriteContext = {
    swarm,
    wallMs: second * S,
    skewMs: 0,
    heartbeatAt: () => 0,
    graces: () => [profileGrace(profile)],
    delayMaxMs: 0,
    standing: () => ({ seenAt: 0 }),
  };
  return () => checkHeard(POD, on, heard, { ...context, readAgeMs: S });
}

/** What was heard of a node until a second, and of the others until another; nothing between two seconds. */
function heard({ own = 0, away = [0, 0] as readonly [number, number] }): Heard {
  const all = new Heard({ profile, remembersOutages: true });
  for (let second = 0; second <= 400; second += 10) {
    if (second > away[0] && second < away[1]) continue;
    all.accepted("n2", "lease", second * S, second * S);
    if (second <= own) all.accepted("n1", "lease", second * S, second * S);
  }
  return all;
}

describe("a deletion by unreachable", () => {
  it("is wrong while the lease of its node is fresh", () => {
    expect(deletionAt(140, UNREACHABLE, heard({ own: 100 }))).toThrow("while n1 renews its lease");
  });

  it("is right once the lease is a grace old", () => {
    expect(deletionAt(151, UNREACHABLE, heard({ own: 100 }))).not.toThrow();
  });

  it("is right where its last renewal is by another clock", () => {
    const setBack = heard({ own: 100 });
    setBack.accepted("n1", "lease", 110 * S, -300 * S);
    expect(deletionAt(140, UNREACHABLE, setBack)).not.toThrow();
  });

  it("may cross with a renewal", () => {
    expect(deletionAt(100.9, UNREACHABLE, heard({ own: 0 }))).not.toThrow();
  });
});

describe("a deletion by a node-health taint", () => {
  it.each([
    ["unreachable", UNREACHABLE],
    ["not-ready", NOT_READY],
  ])("comes a whole grace after an outage (%s)", (_name, on) => {
    const after = heard({ away: [100, 200] });
    expect(deletionAt(200 + GRACE_S - 1, on, after)).toThrow("has a grace of 50000 ms to be heard");
    expect(deletionAt(200 + GRACE_S, on, after)).not.toThrow();
  });

  it("is free on a node that registers after it", () => {
    const after = heard({ away: [100, 200] });
    const created = (second: number): CheckedNode => {
      const creationTimestamp = new Date(second * S).toISOString();
      return { ...NOT_READY, metadata: { ...NOT_READY.metadata, creationTimestamp } };
    };
    expect(deletionAt(201, created(200), after)).not.toThrow();
    expect(deletionAt(201, created(199), after)).toThrow("has a grace of 50000 ms to be heard");
  });

  it("is free where another taint evicts too", () => {
    const both = node("node.kubernetes.io/not-ready", "example.com/maintenance");
    expect(deletionAt(201, both, heard({ away: [100, 200] }))).not.toThrow();
  });
});

it("a pod that is deleted again and again is noticed", () => {
  const deletions = new RepeatedDeletions();
  for (let second = 0; second < 16; second++) deletions.deleted(POD, second * S);
  expect(() => deletions.deleted(POD, 17 * S)).toThrow("17 times within a minute");
  expect(() => deletions.deleted(POD, 120 * S)).not.toThrow();
});
