/** A cluster that continues from a snapshot: when its objects appear, and who renews. */
import { expect, test } from "vitest";
import { apiTime } from "../../../services/domain/api-time.ts";
import { SnapshotWorld } from "../../../services/sandbox/virtual/snapshot-world.ts";
import { observedNode, observedPod } from "../../support/observed-objects.ts";

const TAKEN_AT = Date.UTC(2026, 0, 1);
const LEAD_MS = 60_000;

const ready = (heartbeatAt: number) => [{ type: "Ready", status: "True", heartbeatAt, transitionAt: 0 } as const];
const REPORTED = [
  observedNode("early", { conditions: ready(TAKEN_AT - 300_000) }),
  observedNode("late", { conditions: ready(TAKEN_AT - 20_000) }),
];

/** A world with nodes, of which one reported lately unless others are given, and when a watch has shown each object. */
function fixture(nodes = REPORTED) {
  const renewedAt = new Map([["early", TAKEN_AT - 5_000]]);
  const pod = { node: "early", resourceVersion: "1", pod: observedPod("p", { boundAt: TAKEN_AT + 3_000 }) };
  const objects = { takenAt: TAKEN_AT, nodes, renewedAt, pods: [pod], resources: [], freezes: null };
  const world = new SnapshotWorld(objects, LEAD_MS);
  const shown: string[] = [];
  const note = (what: string): void => {
    shown.push(`${what} ${(world.clock.wallMs() - TAKEN_AT) / 1000}`);
  };
  const sink = { gone: () => {}, state: () => {} };
  world.kube.watch("nodes", { ...sink, changed: ({ node }) => note(node) });
  world.kube.watch("pods", { ...sink, changed: () => note("pod") });
  world.kube.watch("leases", { ...sink, changed: ({ node }) => node === "early" && note("lease") });
  world.kube.watch("policies", { ...sink, changed: () => {}, state: () => note("policies") });
  return { world, shown };
}

test("objects appear at their last stamps, and policies at the snapshot", () => {
  const { world, shown } = fixture();
  world.begin([], 1_000);
  world.clock.advance(0);
  expect(shown).toEqual(["early -60", "lease -60", "late -20", "lease -5", "pod 0", "policies 0"]);
});

test("a node that was tainted later has appeared with its last status before", () => {
  const timeAdded = apiTime(TAKEN_AT - 20_000);
  const taints = [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule", timeAdded } as const];
  const { world, shown } = fixture([observedNode("cordoned", { conditions: ready(TAKEN_AT - 50_000), taints })]);
  world.begin([], 1_000);
  expect(shown.filter((each) => each.startsWith("cordoned"))).toEqual(["cordoned -50", "cordoned -20"]);
});

test("a node that fell silent has appeared with its last renewal", () => {
  const unknown = { type: "Ready", status: "Unknown", transitionAt: TAKEN_AT - 2_000, heartbeatAt: 0 } as const;
  const { world, shown } = fixture([observedNode("early", { createdAt: 0, conditions: [unknown] })]);
  const status = (): string | undefined => world.kube.get("nodes", "early")?.conditions[0]?.status;
  world.clock.advance(LEAD_MS - 4_000);
  expect(status()).toBe("True");
  world.begin([], 1_000);
  expect(status()).toBe("Unknown");
  expect(shown.slice(0, 4)).toEqual(["lease -60", "early -5", "lease -5", "early -2"]);
});

test("a taint that is set is shown, in place of one that is the same but for its value", () => {
  const taint = { key: "maintenance", effect: "NoExecute" };
  const { world, shown } = fixture([observedNode("early", { taints: [{ ...taint, value: "old" }] })]);
  world.begin([], 1_000);
  shown.length = 0;
  world.setTaint("early", { ...taint, value: "new" });
  world.setTaint("unknown", taint);
  expect(shown).toEqual(["early 0"]);
  expect(world.kube.get("nodes", "early")?.taints).toEqual([{ ...taint, value: "new" }]);
});

test("from the snapshot on only living nodes renew their leases", () => {
  const { world, shown } = fixture();
  world.begin(["early"], 40_000);
  shown.length = 0;
  world.clock.advance(100_000);
  expect(shown).toEqual(["lease 40", "lease 80"]);
});

test("the lease of no node is renewed until no kubelet is left", () => {
  const { world } = fixture();
  const renewals = (): number | null | undefined => world.kube.get("leases", "pacemaker")?.renewedAt;
  world.clock.advance(30_000);
  expect(renewals()).toBe(TAKEN_AT - 30_000);
  world.begin([], 1_000);
  world.clock.advance(60_000);
  expect(renewals()).toBe(TAKEN_AT);
});
