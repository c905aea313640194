/** A preview of evictions that disruption budgets refuse, held against what then really happens. */
import { describe, expect, test } from "vitest";
import { Cluster } from "../../../services/sandbox/controllers/cluster.ts";
import { startDisruptionBudgets } from "../../../services/sandbox/controllers/disruption-budgets.ts";
import { expectToHold, type PreviewWorld, policyWorld, previewedOn } from "./preview-world.ts";

const S = 1000;
const DOWN = ["a-0", "a-1", "a-2"];
const THEN_DELETE = { method: "EvictThenDelete", deleteAfter: "2m" };
const BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/** A policy for the nodes of zone a, and a pod of the shop on each of these nodes, which a budget protects. */
function shop(
  evictions: object,
  budget: object,
  nodes: readonly string[] = [...DOWN, "c-0"],
  others: readonly string[] = [],
): PreviewWorld {
  const world = policyWorld(() => ({ nodeEvictionRate: 1, evictions }));
  startDisruptionBudgets(new Cluster(world.api, world.clock));
  for (const node of nodes) world.addPod(node, `shop-${node}`, { metadata: { labels: { app: "shop" } } });
  for (const name of ["shop", ...others]) {
    const spec = { selector: { matchLabels: { app: "shop" } }, ...budget };
    const metadata = { name, namespace: "default" };
    world.post(BUDGETS, { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec });
  }
  world.advance(61 * S);
  return world;
}

/** A preview of these nodes down, held against what happens until a while after all that it names. */
function comesTrue(world: PreviewWorld, down: readonly string[] = DOWN): ReturnType<typeof previewedOn> {
  const preview = previewedOn(world, { node: down, down: true });
  const fromMs = world.clock.monotonicMs();
  world.silence(down);
  world.advance(preview.overAfterMs + 300 * S);
  expectToHold(preview, world, fromMs);
  return preview;
}

const podOf = ({ pods }: ReturnType<typeof previewedOn>, name: string) => pods.find((pod) => pod.name === name);

describe("with budgets, a preview comes true", () => {
  test("of a pod that its budget does not need", () => {
    const preview = comesTrue(shop(THEN_DELETE, { minAvailable: 3 }), ["a-0"]);
    expect(podOf(preview, "shop-a-0")?.deletedAfterMs).toBeLessThan(400 * S);
    expect(podOf(preview, "shop-a-0")?.why).not.toContain("budget");
  });

  test("of pods that are deleted past a budget", () => {
    const preview = comesTrue(shop(THEN_DELETE, { minAvailable: 3 }));
    expect(podOf(preview, "shop-a-0")?.deletedAfterMs).toBeGreaterThan(440 * S);
    expect(podOf(preview, "web-a-0")?.deletedAfterMs).toBeLessThan(400 * S);
    expect(podOf(preview, "shop-a-0")?.why).toMatch(
      /; the disruption budget default\/shop refuses until then, unless other pods of it become ready$/,
    );
  });

  test("of pods that stay, and names their budget", () => {
    const preview = comesTrue(shop({ method: "Evict" }, { minAvailable: 3 }));
    expect(podOf(preview, "shop-a-0")).toMatchObject({
      deletedAfterMs: null,
      why: "held back by the disruption budget default/shop",
    });
  });

  test.each<[string, object, number]>([
    ["that frees unready pods", { minAvailable: 3, unhealthyPodEvictionPolicy: "AlwaysAllow" }, 3],
    ["of maxUnavailable", { maxUnavailable: 1 }, 0],
  ])("of a budget %s", (_what, budget, evicted) => {
    const { pods } = comesTrue(shop({ method: "Evict" }, budget));
    const gone = pods.filter(({ name, deletedAfterMs }) => name.startsWith("shop") && deletedAfterMs !== null);
    expect(gone).toHaveLength(evicted);
  });

  test("of a pod that two budgets protect", () => {
    const preview = comesTrue(shop({ method: "Evict" }, { minAvailable: 1 }, DOWN, ["other"]));
    expect(podOf(preview, "shop-a-0")?.why).toBe("held back by more than one disruption budget");
  });

  test("of a taint: one of two pods goes", () => {
    const world = shop(THEN_DELETE, { minAvailable: 4 });
    world.addPod("a-0", "shop-second", { metadata: { labels: { app: "shop" } } });
    world.advance(61 * S);
    const preview = previewedOn(world, { taint: "a-0=maintenance:NoExecute" });
    const fromMs = world.clock.monotonicMs();
    world.taint("a-0", [{ key: "maintenance", effect: "NoExecute" }]);
    world.advance(300 * S);
    expectToHold(preview, world, fromMs);
    const times = ["shop-a-0", "shop-second"].map((name) => podOf(preview, name)?.earliestAfterMs ?? 900 * S);
    expect(times.filter((ms) => ms < 5 * S)).toHaveLength(2);
    expect(podOf(preview, "shop-second")?.why).toMatch(/; the disruption budget lets fewer go than are due, and which/);
    expect(world.deleted.filter(({ name, atMs }) => name.startsWith("shop") && atMs < fromMs + 9 * S)).toHaveLength(1);
  });
});

describe("with budgets and a rate", () => {
  const AT_RATE = { ...THEN_DELETE, maxPerMinute: 1 };

  test("a preview knows the earliest time after a refusal", () => {
    const { pods } = comesTrue(shop(AT_RATE, { minAvailable: 3 }));
    const due = pods.filter(({ earliestAfterMs }) => earliestAfterMs !== undefined);
    expect(due.map(({ name }) => name)).toEqual(expect.arrayContaining(["shop-a-0", "shop-a-1", "shop-a-2"]));
    expect(due.every(({ why }) => why.endsWith("evicts pods after a refusal is not known"))).toBe(true);
  });

  test("a preview knows every time while no pod waits", () => {
    const { pods } = comesTrue(shop({ ...AT_RATE, maxPerMinute: 20 }, { minAvailable: 3 }));
    expect(pods.filter(({ earliestAfterMs }) => earliestAfterMs !== undefined)).toEqual([]);
  });
});

test("a deleteAfter that is longer than any other wait is waited for", () => {
  const world = shop({ ...THEN_DELETE, deleteAfter: "90m" }, { minAvailable: 3 });
  const preview = previewedOn(world, { node: DOWN, down: true });
  expect(podOf(preview, "shop-a-0")?.deletedAfterMs).toBeGreaterThan(5_700 * S);
});

test("where disruption budgets cannot be read, a preview says so", () => {
  const world = shop(THEN_DELETE, { minAvailable: 3 });
  world.api.faults.add({
    fault: { kind: "status", code: 403 },
    when: ({ resource }) => resource.plural === "poddisruptionbudgets",
  });
  const preview = previewedOn(world, { node: DOWN, down: true });
  expect(preview.unread).toEqual(["PodDisruptionBudgets"]);
  expect(podOf(preview, "shop-a-0")?.why).toMatch(
    /; whether a disruption budget refuses is not known; if so, it goes at the latest after [78]m\d+s$/,
  );
});

test("disruption budgets are read only where a policy asks them", () => {
  const world = shop({ method: "Delete" }, { minAvailable: 3 });
  let reads = 0;
  world.api.faults.add({
    fault: { kind: "stall" },
    when: ({ resource }) => {
      if (resource.plural === "poddisruptionbudgets") reads += 1;
      return false;
    },
  });
  expect(podOf(comesTrue(world), "shop-a-0")?.deletedAfterMs).toBeLessThan(400 * S);
  expect(reads).toBe(0);
});
