/**
 * Every annotation that Vigil keeps on nodes, as a hostile kubelet forges it again and again: decisions about other
 * nodes stay the same. On its own node no taint of another client is removed, and no taint is added that needs a proof.
 */
import { describe, expect, test } from "vitest";
import { Annotation } from "../../protocols/names.ts";
import { EVICTING, EvictionWorld, type Seen } from "../support/eviction-world.ts";
import { HandPolicies } from "../support/hand-policies.ts";

const S = 1000;
const LONG_AGO = "1990-01-01T00:00:00Z";
const FAR = "2200-01-01T00:00:00Z";
const HOSTILE = "a-0";
const LOST = "vigil.io/gpu-lost:NoExecute";
/** What other clients added to the hostile node. */
const FOREIGN = [
  { key: "vigil.io/gpu-lost", effect: "NoSchedule", timeAdded: LONG_AGO },
  { key: "node.kubernetes.io/out-of-service", effect: "NoExecute", value: "nodeshutdown", timeAdded: LONG_AGO },
];
const proof = (at: string) => JSON.stringify({ proof: "Manual", by: "admin", at, reason: "off" });

/** The annotations of nodes; the others are on Leases. */
type NodeAnnotation = Exclude<keyof typeof Annotation, "handover" | "leasesVersion">;

/** What a kubelet would write if it hoped to gain from it. */
const FORGED: Readonly<Record<NodeAnnotation, readonly string[]>> = {
  taintsSeen: [JSON.stringify({ [LOST]: LONG_AGO }), JSON.stringify({ [LOST]: FAR })],
  taintSwap: [
    JSON.stringify({ timeAdded: LONG_AGO, first: { key: "node.kubernetes.io/unreachable", since: LONG_AGO } }),
  ],
  readyTransitions: [JSON.stringify(Array.from({ length: 20 }, () => LONG_AGO)), "[]"],
  conditions: [JSON.stringify({ GpuLost: { status: "True", since: LONG_AGO, transition: LONG_AGO } })],
  holds: ["[]", JSON.stringify([{ type: "DrainInProgress", from: FAR, to: null }])],
  conditionTaints: [
    JSON.stringify({
      "vigil.io/gpu-lost:NoSchedule": "GpuLost",
      "node.kubernetes.io/out-of-service:NoExecute": "GpuLost",
    }),
  ],
  provedDown: [proof("2026-01-01T00:05:00Z"), proof(LONG_AGO), proof(FAR)],
  outOfService: [LONG_AGO, FAR],
};
const CASES = Object.entries(FORGED).flatMap(([name, texts]) =>
  texts.map((text) => [Annotation[name as NodeAnnotation], text] as const),
);

const FIELDS = {
  flapping: { transitions: 4, window: "30m", holdDown: "1h" },
  healthyDelay: "10s",
  maintenance: { hold: ["DrainInProgress"], atMost: "10m" },
  outOfService: { after: "10s", proof: ["Manual" as const] },
  unhealthyConditions: [
    {
      type: "GpuLost",
      status: "True" as const,
      duration: "30s",
      taint: { key: "vigil.io/gpu-lost", effect: "NoExecute" as const },
    },
  ],
};

/** A run of four minutes: other nodes fall silent, fail and heal. The hostile node stays Ready, or falls silent too. */
function run(forged: Readonly<Record<string, string>> | null, isSilent: boolean) {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 });
  world.addZone("a", 6);
  world.addZone("c", 3);
  for (const node of ["a-1", "a-2", "a-3", "c-0"]) world.addTolerantPod(node, `pod-${node}`, []);
  world.start(EVICTING, { member: "vigil", policies: new HandPolicies(FIELDS) });
  world.advance(20 * S);
  world.taint(HOSTILE, FOREIGN);
  const forge = (): void => {
    if (forged === null) return;
    world.patch({ kind: "Node", namespace: "", name: HOSTILE }, { metadata: { annotations: forged } });
  };
  const seconds = (count: number): void => {
    for (let second = 0; second < count; second += 4) {
      forge();
      world.advance(4 * S);
    }
  };
  world.silence(isSilent ? ["a-1", "c-0", HOSTILE] : ["a-1", "c-0"]);
  world.kubelet("a-2").report("GpuLost", "True");
  seconds(120);
  world.revive(["a-1", "c-0"]);
  world.kubelet("a-2").report("GpuLost", "False");
  world.silence(["a-3"]);
  seconds(120);
  return world;
}

const elsewhere = (seen: readonly Seen[]) => seen.filter(({ name }) => name !== HOSTILE);

/** What happened on other nodes, and in which second, give or take one. */
function others({ tainted, healed, deleted }: EvictionWorld): Record<string, number> {
  const all = { tainted: elsewhere(tainted), healed: elsewhere(healed), deleted: elsewhere(deleted) };
  return Object.fromEntries(
    Object.entries(all).flatMap(([what, seen]) => seen.map(({ name, atMs }) => [`${what} ${name}`, atMs])),
  );
}

describe.each([
  ["Ready", false],
  ["silent", true],
])("on a %s node", (_state, isSilent) => {
  const honest = others(run(null, isSilent));

  test("the run without forgery evicts, heals and taints elsewhere", () => {
    expect(Object.keys(honest).length).toBeGreaterThan(5);
  });

  test.each(CASES)("a forged %s of %s changes nothing elsewhere", (annotation, text) => {
    const world = run({ [annotation]: text }, isSilent);
    const found = others(world);
    expect(Object.keys(found).sort()).toEqual(Object.keys(honest).sort());
    for (const [what, atMs] of Object.entries(found)) {
      expect(Math.abs(atMs - (honest[what] ?? 0)), what).toBeLessThanOrEqual(1_500);
    }
    const taints = world.node(HOSTILE).spec.taints ?? [];
    expect(taints.filter(({ key }) => FOREIGN.some((foreign) => foreign.key === key))).toEqual(FOREIGN);
  });
});
