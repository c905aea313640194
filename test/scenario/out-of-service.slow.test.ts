/** A node is declared out of service by a proof, and is back when it returns; all services on virtual time. */
import { describe, expect, test } from "vitest";
import type { NodePolicySpec } from "../../protocols/node-policy.ts";
import { Urgency } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import { NODES } from "../../services/cli/get/get-tables.ts";
import { proveDown, withdrawProof } from "../../services/cli/prove-down/prove-down.ts";
import { downProofText } from "../../services/domain/down-proof.ts";
import { proofMetadata } from "../../services/platform/kube/proof-seal.ts";
import { UNREACHABLE } from "../support/eviction-world.ts";
import { ExplainedWorld } from "../support/explained-world.ts";
import type { StartOptions } from "../support/virtual-cluster.ts";

const S = 1000;
const MINUTE = 60 * S;
const OUT = "node.kubernetes.io/out-of-service:NoExecute";
const AFTER = { after: "3m", proof: ["Manual"] } as const;
const NODE = { kind: "Node", namespace: "", name: "a-0" } as const;

/** Nodes a-0 to a-4 under a policy; a-0 stopped sending heartbeats four minutes ago. */
class ProofWorld extends ExplainedWorld {
  constructor(
    spec: Partial<NodePolicySpec> = {},
    profile: Partial<Profile> = {},
    given: Pick<StartOptions, "isShadow"> = {},
  ) {
    super([{ name: "gpu", spec: { selector: {}, outOfService: { ...AFTER, proof: ["Manual"] }, ...spec } }], profile);
    this.addZone("a", 5);
    this.addTolerantPod("a-0", "db-0");
    this.run(given);
    this.advance(30 * S);
    this.silence(["a-0"]);
    this.advance(4 * MINUTE);
  }

  /** Says that a node is off, as `vigil prove-down` does. Returns the problem; null for none. */
  prove(name = "a-0"): Promise<string | null> {
    const io = { kube: this.kube, nowAt: () => this.clock.wallMs() };
    return this.#settled(proveDown(io, name, { by: "oncall", reason: "power off", graceMs: 50 * S }));
  }

  withdraw(): Promise<string | null> {
    return this.#settled(withdrawProof({ kube: this.kube, nowAt: () => this.clock.wallMs() }, "a-0"));
  }

  isOut(): boolean {
    return this.taints("a-0").includes(OUT);
  }

  annotations(): readonly string[] {
    const ours = Object.keys(this.read(NODE)?.metadata.annotations ?? {});
    return ours.filter((name) => /proved-down|out-of-service/.test(name)).sort();
  }

  says(): string {
    return this.reader.explainNode("a-0")?.sentences.join("\n") ?? "";
  }

  /** Writes a request to freeze all nodes, or ends it. */
  freeze(until: string | null = null): void {
    const [since] = [this.at()];
    this.request({ name: "alice", since, ...(until === null ? {} : { until }) });
  }

  async #settled(acting: Promise<unknown>): Promise<string | null> {
    let problem: string | null | undefined;
    acting.then(
      () => {
        problem = null;
      },
      (error: Error) => {
        problem = error.message;
      },
    );
    for (let step = 0; step < 100 && problem === undefined; step++) {
      this.advance(1);
      await Promise.resolve();
    }
    return problem ?? null;
  }
}

describe("a silent node", () => {
  test("is not declared out of service by time alone", () => {
    const world = new ProofWorld();
    expect(world.taints("a-0")).toContain(`${UNREACHABLE}:NoExecute`);
    world.advance(60 * MINUTE);
    expect(world.isOut()).toBe(false);
    expect(world.says()).toContain("It is not proved to be off, so it does not get node.kubernetes.io/out-of-service");
  });

  test("is declared out of service once it is proved to be off", async () => {
    const world = new ProofWorld();
    expect(await world.prove()).toBeNull();
    world.advance(2 * S);
    expect(world.isOut()).toBe(true);
    const taint = world.node("a-0").spec.taints?.find(({ key }) => OUT.startsWith(key));
    expect(taint?.value).toBe("vigil-nodeshutdown");
    expect(world.annotations()).toEqual(["vigil.v1/out-of-service", "vigil.v1/proved-down"]);
    expect(world.says()).toContain(
      "It is out of service by node.kubernetes.io/out-of-service: kube-controller-manager 1.26",
    );
    const [node] = world.reader.nodes().filter(({ name }) => name === "a-0");
    expect(node && NODES.wide?.cells(node).at(-1)).toBe("on");
  });

  test("waits for `after`, and over a crash", async () => {
    const world = new ProofWorld({ outOfService: { after: "10m", proof: ["Manual"] } });
    await world.prove();
    world.advance(2 * MINUTE);
    expect(world.says()).toMatch(/It was proved to be off by oncall at \S+ \(power off\): it gets \S+ at \S+, in/);
    world.crash(10 * S);
    world.advance(2 * MINUTE);
    expect(world.isOut()).toBe(false);
    world.advance(3 * MINUTE);
    expect(world.isOut()).toBe(true);
  });

  test("is declared out of service only by a proof that its policy takes", async () => {
    const world = new ProofWorld({ outOfService: { after: "1m", proof: ["RemediationSucceeded"] } });
    expect(await world.prove()).toBeNull();
    world.advance(10 * MINUTE);
    expect(world.isOut()).toBe(false);
    expect(world.says()).toContain("its policy takes no word of people, and no remediation has succeeded");
  });

  test.each([5, 30])("is declared out of service by a proof of a clock %i s ahead", (seconds) => {
    const world = new ProofWorld({ outOfService: { after: "1m", proof: ["Manual"] } });
    const at = world.clock.wallMs() + seconds * S;
    const proof = downProofText({ proof: "Manual", by: "oncall", reason: "", at });
    world.patch(NODE, { metadata: proofMetadata(proof) });
    world.advance((seconds - 2) * S);
    expect(world.isOut()).toBe(false);
    world.advance(5 * S);
    expect(world.isOut()).toBe(true);
  });

  test("would be declared out of service in shadow mode", async () => {
    const world = new ProofWorld({}, {}, { isShadow: true });
    world.patch(
      NODE,
      { status: { conditions: [{ type: "Ready", status: "Unknown", lastTransitionTime: world.at() }] } },
      "status",
    );
    world.advance(2 * S);
    expect(await world.prove()).toBeNull();
    world.advance(10 * MINUTE);
    expect(world.isOut()).toBe(false);
    expect(world.annotations()).toEqual(["vigil.v1/proved-down"]);
    expect(world.says()).toMatch(/It would carry .*out-of-service/);
  });

  test("is declared once, although a user removes the taint", async () => {
    const world = new ProofWorld();
    await world.prove();
    world.advance(2 * S);
    const rest = world.node("a-0").spec.taints?.filter(({ key }) => !OUT.startsWith(key));
    world.write({
      verb: "patch",
      patch: "merge",
      ref: NODE,
      urgency: Urgency.healing,
      body: { spec: { taints: rest } },
    });
    world.advance(10 * MINUTE);
    expect(world.isOut()).toBe(false);
    expect(world.says()).toContain("Another client removed node.kubernetes.io/out-of-service while it was silent");
    expect(await world.prove()).toBeNull();
    world.advance(2 * S);
    expect(world.isOut()).toBe(true);
  });
});

describe("the taint ends", () => {
  async function out(spec: Partial<NodePolicySpec> = {}): Promise<ProofWorld> {
    const world = new ProofWorld(spec);
    await world.prove();
    world.advance(2 * S);
    expect(world.isOut()).toBe(true);
    return world;
  }

  test("with its proof when the node is Ready again, a freeze or not", async () => {
    const world = await out();
    world.freeze();
    world.revive(["a-0"]);
    world.advance(5 * S);
    expect(world.isOut()).toBe(false);
    expect(world.annotations()).toEqual([]);
    world.silence(["a-0"]);
    world.advance(30 * MINUTE);
    expect(world.isOut()).toBe(false);
  });

  test("when its proof is withdrawn", async () => {
    const world = await out();
    expect(await world.withdraw()).toBeNull();
    world.advance(2 * S);
    expect(world.isOut()).toBe(false);
    world.advance(30 * MINUTE);
    expect(world.isOut()).toBe(false);
  });

  test("by people where the policy leaves it to them", async () => {
    const world = await out({ outOfService: { after: "3m", proof: ["Manual"], removeWhenReady: false } });
    world.revive(["a-0"]);
    world.advance(30 * S);
    expect(world.isOut()).toBe(true);
    expect(world.says()).toContain("It is Ready and still out of service by node.kubernetes.io/out-of-service");
    await world.withdraw();
    world.advance(2 * S);
    expect(world.isOut()).toBe(false);
  });

  test("never that of another client", async () => {
    const world = new ProofWorld();
    const taints = world.node("a-0").spec.taints ?? [];
    const foreign = { key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" };
    world.patch(NODE, { spec: { taints: [...taints, foreign] } });
    world.revive(["a-0"]);
    world.advance(MINUTE);
    expect(world.taints("a-0")).toEqual([OUT]);
  });
});

describe("the taint is held back", () => {
  test("by a freeze, which adds its length to `after`", async () => {
    const world = new ProofWorld({ outOfService: { after: "6m", proof: ["Manual"] } });
    await world.prove();
    world.freeze(world.at(5 * MINUTE));
    world.advance(4 * MINUTE);
    expect(world.isOut()).toBe(false);
    world.advance(2 * MINUTE);
    expect(world.isOut()).toBe(false);
    world.advance(3 * MINUTE);
    expect(world.isOut()).toBe(true);
  });

  test("by a maintenance that ended before the eviction", async () => {
    const outOfService = { after: "6m", proof: ["Manual" as const] };
    const world = new ProofWorld({ outOfService, maintenance: { hold: ["DrainInProgress"], atMost: "10m" } });
    const drain = (status: string): void => {
      const conditions = [{ type: "DrainInProgress", status, lastTransitionTime: world.at() }];
      world.patch({ ...NODE, name: "a-1" }, { status: { conditions } }, "status");
    };
    drain("True");
    world.silence(["a-1"]);
    world.advance(5 * MINUTE);
    drain("False");
    expect(await world.prove("a-1")).toBeNull();
    world.advance(4 * MINUTE);
    expect(world.taints("a-1")).toContain(`${UNREACHABLE}:NoExecute`);
    expect(world.taints("a-1")).not.toContain(OUT);
    world.advance(3 * MINUTE);
    expect(world.taints("a-1")).toContain(OUT);
  });

  test.each<[string, Partial<NodePolicySpec>]>([
    ["maxUnhealthy", { maxUnhealthy: 1 }],
    ["circuitBreaker", { circuitBreaker: { maxNodes: 1, duration: "1h", resetAfter: "1h" } }],
  ])("by %s that was exceeded after the node was admitted", async (field, spec) => {
    const world = new ProofWorld(spec);
    world.advance(MINUTE);
    world.silence(["a-1"]);
    world.advance(3 * MINUTE);
    expect(await world.prove()).toBeNull();
    world.advance(3 * MINUTE);
    expect(world.isOut()).toBe(false);
    expect(world.says()).toMatch(new RegExp(`and ${field}.* of gpu blocks \\S+`));
    if (field === "maxUnhealthy") {
      world.revive(["a-1"]);
      world.advance(MINUTE);
      expect(world.isOut()).toBe(true);
    }
  });

  test("by budgets, because the node is not admitted", async () => {
    const world = new ProofWorld({ budgets: [{ nodes: 0 }] });
    expect(await world.prove()).toBeNull();
    world.advance(10 * MINUTE);
    expect(world.isOut()).toBe(false);
    expect(world.says()).toContain("it gets node.kubernetes.io/out-of-service once it is admitted for eviction");
  });

  test("while every zone is down", async () => {
    const world = new ProofWorld();
    world.silence(["a-1", "a-2", "a-3", "a-4"]);
    world.advance(2 * MINUTE);
    expect(await world.prove()).toBeNull();
    world.advance(10 * MINUTE);
    expect(world.isOut()).toBe(false);
  });
});

describe("a proof is refused", () => {
  test("for a node that is Ready or does not exist", async () => {
    const world = new ProofWorld();
    expect(await world.prove("a-1")).toBe("node a-1 is alive: its Ready condition is True");
    expect(await world.prove("a-9")).toBe("node a-9: not found");
    world.silence(["a-1"]);
    world.advance(20 * S);
    expect(await world.prove("a-1")).toBe("node a-1 is alive: its Ready condition is True");
    expect(world.annotations()).toEqual([]);
  });

  test("of before its silence, also if a user wrote it by hand", () => {
    const world = new ProofWorld();
    const proof = { proof: "Manual", by: "script", at: "2025-12-31T00:00:00Z", reason: "power off" };
    world.patch(NODE, { metadata: proofMetadata(JSON.stringify(proof)) });
    world.advance(10 * MINUTE);
    expect(world.isOut()).toBe(false);
    expect(world.says()).toContain("is older than its silence");
  });
});

test("without the field nothing is done about a proof", async () => {
  const world = new ProofWorld({ outOfService: undefined } as never);
  expect(await world.prove()).toBeNull();
  world.advance(30 * MINUTE);
  expect(world.isOut()).toBe(false);
  expect(world.says()).not.toContain("out-of-service");
});

test("in direct mode Vigil declares nothing", async () => {
  const world = new ProofWorld({}, { evictionMode: "direct" });
  await world.prove();
  world.advance(10 * MINUTE);
  expect(world.isOut()).toBe(false);
});
