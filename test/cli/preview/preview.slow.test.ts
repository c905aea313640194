/** A preview held against what then really happens, on the embedded API and virtual time. */
import { describe, expect, test } from "vitest";
import type { Profile } from "../../../protocols/profile.ts";
import type { FaultFlags } from "../../../services/cli/preview/fault.policy.ts";
import { previewOf } from "../../../services/cli/preview/preview.policy.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import { expectToHold, previewedOn, previewWorld, snapshotOf } from "./preview-world.ts";

const S = 1000;

describe("a preview comes true", () => {
  test.each<[string, Partial<FaultFlags>, readonly string[], Partial<Profile>]>([
    ["of one node", { node: ["a-0"], down: true }, ["a-0"], {}],
    ["of two nodes in turn", { node: ["a-0", "a-1"], down: true }, ["a-0", "a-1"], {}],
    ["of a whole zone", { zone: "b", down: true }, ["b-0", "b-1", "b-2", "b-3"], {}],
    ["of a small zone in part", { node: ["a-0", "a-1", "a-2", "a-3"], down: true }, ["a-0", "a-1", "a-2", "a-3"], {}],
    [
      "of a large zone in part",
      { node: ["a-0", "a-1", "a-2", "a-3"], down: true },
      ["a-0", "a-1", "a-2", "a-3"],
      { largeClusterSizeThreshold: 3 },
    ],
  ])("%s", (_name, flags, silenced, profile) => {
    const world = previewWorld(profile);
    const preview = previewedOn(world, flags);
    const fromMs = world.clock.monotonicMs();
    world.silence(silenced);
    world.advance(1_800 * S);
    expect(preview.nodes.map(({ node }) => node).sort()).toEqual([...silenced]);
    expectToHold(preview, world, fromMs);
  });

  test("of all zones: no pod is evicted", () => {
    const world = previewWorld();
    const all = ["a", "b", "c"].flatMap((zone) => [0, 1, 2, 3, 4, 5].map((index) => `${zone}-${index}`));
    const names = all.filter((name) => snapshotOf(world).nodes.some(({ node }) => node === name));
    const preview = previewedOn(world, { node: names, down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(names);
    world.advance(1_800 * S);
    expectToHold(preview, world, fromMs);
    expect(preview.zones.map(({ after }) => after.state)).toEqual(["Halted", "Halted", "Halted"]);
  });

  test("of a taint set by hand", () => {
    const world = previewWorld();
    const preview = previewedOn(world, { taint: "a-0=maintenance:NoExecute" });
    const fromMs = world.clock.monotonicMs();
    world.taint("a-0", [{ key: "maintenance", effect: "NoExecute" }]);
    world.advance(600 * S);
    expectToHold(preview, world, fromMs);
  });

  test("of a node in a cluster where another is being evicted", () => {
    const world = previewWorld();
    world.silence(["a-1"]);
    world.advance(90 * S);
    const preview = previewedOn(world, { node: ["a-0"], down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(["a-0"]);
    world.advance(1_800 * S);
    expectToHold(preview, world, fromMs);
  });

  test("of a drain without taints", () => {
    const world = previewWorld({ evictionMode: "direct", podEvictionTimeoutMs: 120 * S });
    const preview = previewedOn(world, { node: ["a-0"], down: true });
    const fromMs = world.clock.monotonicMs();
    world.silence(["a-0"]);
    world.advance(1_800 * S);
    const previewed = preview.pods.flatMap(({ name, deletedAfterMs }) => (deletedAfterMs === null ? [] : [name]));
    expect(previewed.sort()).toEqual(
      world.deleted
        .filter(({ atMs }) => atMs >= fromMs)
        .map(({ name }) => name)
        .sort(),
    );
  });
});

test("each pod has its reason", () => {
  const { pods } = previewedOn(previewWorld(), { node: ["a-0"], down: true });
  expect(Object.fromEntries(pods.map(({ name, why }) => [name, why]))).toEqual({
    forever: "tolerates node.kubernetes.io/unreachable:NoExecute",
    // Admission lets it tolerate the taint for 300 s.
    never: "does not tolerate node.kubernetes.io/unreachable:NoExecute for more than 300 s",
    short: "does not tolerate node.kubernetes.io/unreachable:NoExecute for more than 30 s",
    "web-a-0": "does not tolerate node.kubernetes.io/unreachable:NoExecute for more than 300 s",
  });
});

test("each pod of a node tainted by hand has the seconds of its toleration", () => {
  const { pods } = previewedOn(previewWorld(), { taint: "a-0=maintenance:NoExecute" });
  expect(Object.fromEntries(pods.map(({ name, why }) => [name, why]))).toEqual({
    forever: "tolerates maintenance:NoExecute",
    never: "does not tolerate maintenance:NoExecute",
    short: "does not tolerate maintenance:NoExecute for more than 30 s",
    "web-a-0": "does not tolerate maintenance:NoExecute",
  });
});

test("a pod whose countdown continues has the taint and the seconds that count", () => {
  const world = previewWorld();
  const tolerating = (key: string, tolerationSeconds: number) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds,
  });
  world.addTolerantPod("a-0", "patient", [tolerating("not-ready", 900), tolerating("unreachable", 60)]);
  world.kubelet("a-0").report("Ready", "False");
  world.advance(30 * S);
  const { pods } = previewedOn(world, { node: ["a-0"], down: true });
  const patient = pods.find(({ name }) => name === "patient");
  expect(patient?.why).toBe("does not tolerate node.kubernetes.io/not-ready:NoExecute for more than 900 s");
  expect(patient?.deletedAfterMs).toBeGreaterThan(860 * S);
});

test.each<[string, (world: ReturnType<typeof previewWorld>) => void]>([
  ["a cordon", (world) => world.patch({ kind: "Node", namespace: "", name: "a-0" }, { spec: { unschedulable: true } })],
  ["a status of its kubelet", (world) => world.kubelet("a-0").report("Ready", "False")],
  ["a silence", (world) => world.silence(["a-0"])],
])("%s does not begin a countdown again", (_what, change) => {
  const world = previewWorld();
  world.addTolerantPod("a-0", "patient", [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 200 }]);
  const left = (): number => {
    const { pods } = previewedOn(world, { node: ["b-0"], down: true });
    return pods.find(({ name }) => name === "patient")?.deletedAfterMs ?? Number.NaN;
  };
  world.taint("a-0", [{ key: "maintenance", effect: "NoExecute", timeAdded: apiTime(world.clock.wallMs()) }]);
  world.advance(40 * S);
  const before = left();
  change(world);
  world.advance(60 * S);
  expect(Math.abs(before - left() - 60 * S)).toBeLessThanOrEqual(S);
});

test("a pod whose toleration cannot be read stays, for that reason", () => {
  const world = previewWorld();
  const snapshot = snapshotOf(world);
  const pods = snapshot.pods.map((bound) =>
    bound.pod.name === "short" ? { ...bound, pod: { ...bound.pod, tolerations: [{ operator: "SemverGt" }] } } : bound,
  );
  const fault = { what: "a-0 is down", nodes: new Set(["a-0"]), taint: null };
  const short = previewOf({ ...snapshot, pods }, fault, world.profile).pods.find(({ name }) => name === "short");
  expect(short).toMatchObject({
    deletedAfterMs: null,
    why: "may tolerate node.kubernetes.io/unreachable:NoExecute: toleration operator SemverGt: this version of Vigil does not know it, so upgrade Vigil or delete the pod by hand",
  });
});

test("a preview writes nothing", () => {
  const world = previewWorld();
  const before = JSON.stringify(world.node("a-0"));
  previewedOn(world, { zone: "a", down: true });
  expect(JSON.stringify(world.node("a-0"))).toBe(before);
});
