/** The operator's ceiling on the nodes that policies taint NoExecute: 24 healthy nodes under an attack. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { Urgency } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { ExplainedWorld } from "../support/explained-world.ts";

const S = 1000;
const MINUTE = 60 * S;
const KEY = "vigil.io/attack";
const DEFINITION = parse(readFileSync(join(import.meta.dirname, "../../deploy/crd/nodepolicies.yaml"), "utf8"));
const NAMES = ["a", "b", "c", "d"].flatMap((zone) => Array.from({ length: 6 }, (_, index) => `${zone}-${index}`));
/** More than the rates of any operator, and no limit of the policy's own. */
const RATES = { nodeEvictionRate: 1e9, secondaryNodeEvictionRate: 1e9, fullDisruptionEvictionRate: 1e9 };

/** Four zones of six nodes each, on which every kubelet reports that nothing is wrong. */
class AttackedWorld extends ExplainedWorld {
  constructor(profile: Partial<Profile> = {}) {
    super([], profile);
    this.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION);
    for (const zone of ["a", "b", "c", "d"]) this.addZone(zone, 6);
    for (const name of NAMES) this.kubelet(name).report("Broken", "False");
    this.run();
    this.advance(10 * S);
  }

  create(path: string, object: unknown): void {
    const headers = { "content-type": "application/json", accept: "application/json" };
    const request = { method: "POST", path, headers, body: JSON.stringify(object) };
    this.api.wire.send(request, { response: () => {}, data: () => {}, end: () => {}, failed: () => {} });
    this.advance(0);
  }

  /** Applies a policy that requires a NoExecute taint of every node whose condition has a status. */
  attack(name: string, type: string, status: "True" | "False", fields: object = {}): void {
    const taint = { key: `${KEY}-${name}`, effect: "NoExecute" };
    const rule = { type, status, duration: "1s", taint };
    const spec = { selector: {}, unhealthyConditions: [rule], ...RATES, ...fields };
    this.create("/apis/vigil.io/v1alpha1/nodepolicies", {
      apiVersion: "vigil.io/v1alpha1",
      kind: "NodePolicy",
      metadata: { name },
      spec,
    });
  }

  end(name: string): void {
    this.write({ verb: "delete", ref: { kind: "NodePolicy", namespace: "", name }, urgency: Urgency.status });
  }

  conditionsOf(name: string): readonly { readonly type: string; readonly message: string }[] {
    const status = this.read({ kind: "NodePolicy", namespace: "", name })?.status ?? {};
    return (status as { conditions?: { type: string; message: string }[] }).conditions ?? [];
  }

  get attacked(): string[] {
    return NAMES.filter((name) => this.taints(name).some((taint) => taint.startsWith(KEY)));
  }
}

describe("24 Ready nodes", () => {
  test("are not tainted for a MemoryPressure of False", () => {
    const world = new AttackedWorld();
    world.attack("memory", "MemoryPressure", "False");
    world.advance(30 * MINUTE);
    expect(world.attacked).toEqual([]);
  });

  test("with a condition that all have: three are tainted, ever", () => {
    const world = new AttackedWorld();
    world.attack("all", "Broken", "False");
    for (let minute = 0; minute < 60; minute++) {
      world.advance(MINUTE);
      expect(world.attacked.length).toBeLessThanOrEqual(3);
    }
    expect(world.attacked).toHaveLength(3);
    world.end("all");
    world.advance(10 * S);
    expect(world.attacked).toEqual([]);
  });

  test("under policies that come and go: three in a window", () => {
    const world = new AttackedWorld();
    const ever = new Set<string>();
    for (let turn = 0; turn < 4; turn++) {
      world.attack(`turn-${turn}`, "Broken", "False");
      world.advance(90 * S);
      for (const name of world.attacked) ever.add(name);
      world.end(`turn-${turn}`);
      world.advance(30 * S);
      expect(world.attacked).toEqual([]);
    }
    expect(ever.size).toBe(3);
  });

  test("that healed count over a crash of every process", () => {
    const world = new AttackedWorld();
    world.attack("first", "Broken", "False");
    world.advance(2 * MINUTE);
    expect(world.attacked).toHaveLength(3);
    for (const name of world.attacked) world.kubelet(name).report("Broken", "True");
    world.end("first");
    world.advance(10 * S);
    world.crash(10 * S);
    world.attack("second", "Broken", "False");
    world.advance(7 * MINUTE);
    expect(world.attacked).toEqual([]);
    world.advance(3 * MINUTE);
    expect(world.attacked).toHaveLength(3);
  });

  test("that are not ready together: three get such a taint", () => {
    const world = new AttackedWorld();
    for (const name of NAMES.slice(0, 23)) world.kubelet(name).report("Ready", "False");
    world.attack("all", "Broken", "False");
    world.advance(10 * MINUTE);
    expect(world.attacked.length).toBeLessThanOrEqual(3);
    for (const name of NAMES) world.kubelet(name).report("Ready", "True");
    world.advance(MINUTE);
    expect(world.attacked.length).toBeLessThanOrEqual(3);
  });

  test("are all tainted where the operator sets no ceiling", () => {
    const world = new AttackedWorld({ policyTaintedNodesMax: 0, policyTaintedPercentageMax: 0 });
    world.attack("all", "Broken", "False");
    world.advance(5 * MINUTE);
    expect(world.attacked).toHaveLength(24);
  });
});

test("a node that is ill gets its taint again once another has healed", () => {
  const world = new AttackedWorld({ policyTaintedNodesMax: 1, policyTaintedDurationMs: 5 * MINUTE });
  world.attack("ill", "Broken", "True");
  world.kubelet("a-0").report("Broken", "True");
  world.advance(2 * MINUTE);
  world.kubelet("b-0").report("Broken", "True");
  world.advance(10 * MINUTE);
  expect(world.attacked).toEqual(["a-0"]);
  world.kubelet("a-0").report("Broken", "False");
  world.advance(5 * S);
  expect(world.taints("a-0")).toEqual([]);
  world.advance(MINUTE);
  expect(world.attacked).toEqual(["b-0"]);
});

describe("what the ceiling blocks", () => {
  const shown = () => {
    const world = new AttackedWorld();
    world.attack("all", "Broken", "False");
    world.advance(2 * MINUTE);
    const waiting = NAMES.find((name) => !world.attacked.includes(name)) ?? "";
    return { world, waiting };
  };
  const detail = "3 nodes carry NoExecute taints of policies, at most 3 of 24 may";

  test("is explained for a node and for its policy", () => {
    const { world, waiting } = shown();
    const sentences = world.reader.explainNode(waiting)?.sentences ?? [];
    expect(sentences).toContain(`It waits: --policy-max-tainted-nodes of the cluster blocks it: ${detail}.`);
    expect(world.reader.explainPolicy("all")?.sentences).toContain(
      `Blocked by --policy-max-tainted-nodes of the cluster: 21 nodes (${detail}).`,
    );
  });

  test("is in the status of the policy while nodes wait", () => {
    const { world } = shown();
    world.advance(10 * S);
    const reached = () => world.conditionsOf("all").find(({ type }) => type === "CeilingReached");
    expect(reached()?.message).toBe(
      `21 nodes wait for --policy-max-tainted-nodes, which counts all policies: ${detail}`,
    );
    for (const name of NAMES) world.kubelet(name).report("Broken", "True");
    world.advance(20 * S);
    expect(reached()).toBeUndefined();
  });
});
