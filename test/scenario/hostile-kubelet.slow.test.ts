/**
 * Scenarios on virtual time: neither what a kubelet writes on its own node nor a shard that never arrives completely
 * delays an eviction elsewhere.
 */
import { describe, expect, test } from "vitest";
import { MESSAGE_BYTES_MAX } from "../../protocols/frame.ts";
import type { Toleration } from "../../protocols/objects.ts";
import { SHARD_COUNT, shardOf } from "../../protocols/subjects.ts";
import { EVICTING, EvictionWorld, UNREACHABLE } from "../support/eviction-world.ts";
import { loseObserved } from "../support/lossy-transport.ts";
import { metricValue } from "../support/metric-value.ts";

const S = 1000;
const HOSTILE = "hostile";
const REF = { kind: "Node", namespace: "", name: HOSTILE } as const;
/** Long enough for a grace, a grant and the pulses in between. */
const FOUND_MS = 60 * S;
const LONG = "x".repeat(MESSAGE_BYTES_MAX);

const taintsSeen = (text: string) => ({ metadata: { annotations: { "vigil.v1/taints-seen": text } } });
const instants = Array.from({ length: 2000 }, (_, index) => [
  `example.com/key-${index}:NoExecute`,
  "2026-01-01T00:00:00Z",
]);

/** What the credential of a kubelet lets it write on its node. */
const writings: [string, object, "status"?][] = [
  ["an annotation of many instants", taintsSeen(JSON.stringify(Object.fromEntries(instants)))],
  ["an annotation with an endless key", taintsSeen(JSON.stringify({ [LONG]: "2026-01-01T00:00:00Z" }))],
  ["an annotation that is no JSON", taintsSeen(LONG)],
  [
    "a swap of endless taints",
    { metadata: { annotations: { "vigil.v1/taint-swap": JSON.stringify({ timeAdded: LONG }) } } },
  ],
  ["an endless condition type", { status: { conditions: [{ type: LONG, status: "True" }] } }, "status"],
  ["an endless reason", { status: { conditions: [{ type: "Ready", status: "True", reason: LONG }] } }, "status"],
  [
    "a thousand conditions",
    { status: { conditions: instants.map(([type]) => ({ type, status: "True", reason: "R".repeat(200) })) } },
    "status",
  ],
];

/** Another name in the shard of the hostile node. */
function neighbour(prefix: string): string {
  const names = Array.from({ length: 100 * SHARD_COUNT }, (_, index) => `${prefix}-${index}`);
  const found = names.find((name) => shardOf(name) === shardOf(HOSTILE));
  if (found === undefined) throw new Error("no name falls into the shard");
  return found;
}

function labelsOf(zone: string) {
  return { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": zone };
}

describe.each(writings)("a kubelet that writes %s", (_what, body, subresource) => {
  test("delays no eviction in any zone or in its own shard", () => {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    world.addZone("b", 3);
    const near = neighbour("near");
    world.register(HOSTILE, labelsOf("b"));
    world.register(near, labelsOf("b"));
    world.run();
    world.advance(10 * S);
    world.patch(REF, body, subresource);
    world.advance(20 * S);
    world.silence(["a-0", "b-0", near]);
    world.advance(FOUND_MS + 10 * S);
    expect(world.tainted.map(({ name }) => name).sort()).toEqual(["a-0", "b-0", near].sort());
  });

  test("is evicted like any other once it is silent", () => {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    world.register(HOSTILE, labelsOf("b"));
    world.run();
    world.patch(REF, body, subresource);
    world.addTolerantPod(HOSTILE, "pod");
    world.advance(30 * S);
    world.silence([HOSTILE]);
    world.advance(FOUND_MS);
    expect(world.taintedAt(HOSTILE)).toBeDefined();
    world.advance(300 * S);
    expect(world.deletedAt("pod")).toBeDefined();
  });
});

test("a node with thousands of taints is evicted when granted, and keeps them all", () => {
  const world = new EvictionWorld();
  world.addZone("a", 3);
  const foreign = Array.from({ length: 2000 }, (_, index) => ({ key: `example.com/${index}`, effect: "NoExecute" }));
  const taints = foreign.map(({ key }) => ({ key, effect: "NoSchedule" }));
  world.register(HOSTILE, labelsOf("b"), { taints: [...taints, ...foreign] });
  world.run();
  world.addTolerantPod(HOSTILE, "pod", []);
  world.advance(10 * S);
  expect(world.deletedAt("pod")).toBeDefined();
  world.silence([HOSTILE]);
  world.advance(FOUND_MS);
  expect(world.taintedAt(HOSTILE)).toBeDefined();
  const existing = world.taints(HOSTILE);
  expect(existing).toEqual(expect.arrayContaining([`${UNREACHABLE}:NoExecute`, `${UNREACHABLE}:NoSchedule`]));
  expect(existing).toHaveLength(4002);
  world.revive([HOSTILE]);
  world.advance(10 * S);
  expect(world.taints(HOSTILE)).toHaveLength(4000);
});

describe("with hundreds of tolerations a pod", () => {
  const many = (effect: string, length: number): Toleration[] =>
    Array.from({ length }, (_, index) => ({ key: `example.com/key-${index}`, operator: "Exists", effect }));
  const ours = { key: UNREACHABLE, operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 };

  function evictedWith(tolerations: readonly Toleration[]) {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    world.addTolerantPod("a-0", "many", tolerations);
    world.addTolerantPod("a-0", "few", [ours]);
    const process = world.start(EVICTING);
    world.advance(10 * S);
    world.silence(["a-0"]);
    world.advance(FOUND_MS + 80 * S);
    return { process, deleted: world.deleted.map(({ name }) => name).sort() };
  }

  test("is evicted in time if few are of NoExecute", () => {
    const duplicates = many("NoExecute", 800).map((toleration) => ({ ...toleration, key: "example.com/same" }));
    expect(evictedWith([...many("NoSchedule", 800), ...duplicates, ours]).deleted).toEqual(["few", "many"]);
  });

  test("is evicted in time if 700 are of NoExecute", () => {
    expect(evictedWith([...many("NoExecute", 700), ours]).deleted).toEqual(["few", "many"]);
  });

  test("too large for a message is named and counted", async () => {
    const { process, deleted } = evictedWith([...many("NoExecute", 1500), ours]);
    expect(deleted).toEqual(["few"]);
    expect(await metricValue(process.metrics, "vigil_unpublished_objects", { kind: "Pod" })).toBe(1);
    const named = process.log.lines.filter(({ message }) => message === "pod not published: it exceeds a message");
    expect(named.map(({ fields }) => fields)).toEqual([{ node: "a-0", pod: "default/many" }]);
  });
});

describe("a shard unheard", () => {
  const lost: [string, (noun: string) => boolean][] = [
    ["at all", () => true],
    ["but for its pulses", (noun) => noun === "node"],
  ];
  const lose = ({ transport }: EvictionWorld, isLost: (noun: string) => boolean) =>
    loseObserved(transport, ({ noun, shard }) => shard === shardOf(HOSTILE) && isLost(noun));

  test.each(lost)("%s, delays no eviction in zones without its nodes", (_what, isLost) => {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    world.register(HOSTILE, labelsOf("b"));
    lose(world, isLost);
    world.run();
    world.advance(30 * S);
    world.silence(["a-0"]);
    world.advance(FOUND_MS);
    expect(world.taintedAt("a-0")).toBeDefined();
  });

  test.each(lost)("%s any more, delays no eviction in zones without its nodes", (_what, isLost) => {
    const world = new EvictionWorld();
    world.addZone("a", 3);
    world.register(HOSTILE, labelsOf("b"));
    world.run();
    world.advance(30 * S);
    lose(world, isLost);
    world.patch(REF, { spec: { unschedulable: true } });
    world.silence(["a-0"]);
    world.advance(FOUND_MS);
    expect(world.taintedAt("a-0")).toBeDefined();
  });

  test.each(lost)("%s, halts all zones when all received nodes are down", (_what, isLost) => {
    const world = new EvictionWorld();
    const nodes = world.addZone("a", 3);
    world.register(HOSTILE, labelsOf("b"));
    lose(world, isLost);
    world.run();
    world.advance(30 * S);
    world.silence(nodes);
    world.advance(10 * FOUND_MS);
    expect(world.tainted).toEqual([]);
  });
});
