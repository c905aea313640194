/**
 * What a process that has stolen the NATS seed of one role achieves with the messages that this role may send. Each row
 * of the table in SECURITY.md is a test here: what the writers refuse, and what is left at worst.
 */
import { describe, expect, test } from "vitest";
import { INSTANT_MAX } from "../../protocols/bounds.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Profile } from "../../protocols/profile.ts";
import { EvictionWorld, NOT_READY, UNREACHABLE } from "../support/eviction-world.ts";

const S = 1000;
const NODE = "a-0";
const EVIL = "example.com/evil";

/** A healthy cluster of two zones with a pod on each node, and a thief on its bus. */
class Robbed extends EvictionWorld {
  constructor(profile: Partial<Profile> = {}) {
    super(profile);
    for (const name of [...this.addZone("a", 8), ...this.addZone("b", 3)]) this.addTolerantPod(name, `pod-${name}`);
    this.run();
    this.advance(10 * S);
  }

  /** What an ask names of a node as it is. */
  named(name = NODE): Pick<BodyOf<"asked.taint">, "node" | "uid" | "resourceVersion"> {
    const { uid, resourceVersion } = this.node(name).metadata;
    return { node: name, uid, resourceVersion };
  }

  askTaint(service: "zone" | "node", fields: Partial<BodyOf<"asked.taint">>, name = NODE): void {
    const taints = this.node(name).spec.taints ?? [];
    const asked = { ...this.named(name), taints, add: [], remove: [], ready: "True" as const, why: "turn" as const };
    const ask: BodyOf<"asked.taint"> = { ...asked, ...fields };
    this.busOf(service, "thief").publish("asked.taint", ask, null);
    this.advance(S);
  }

  askLabel(service: "node" | "taint-manager", fields: Partial<BodyOf<"asked.label">>, waitMs = S): void {
    const ask = { ...this.named(), labels: {}, ...fields };
    this.busOf(service, "thief").publish("asked.label", ask, null);
    this.advance(waitMs);
  }

  askCondition(conditions: BodyOf<"asked.condition">["conditions"]): void {
    const ready = this.node(NODE).status.conditions?.find(({ type }) => type === "Ready");
    const lease = this.read({ kind: "Lease", namespace: "kube-node-lease", name: NODE });
    const basis = {
      leaseRenewedAt: Date.parse(String((lease?.spec as { renewTime?: string } | undefined)?.renewTime)),
      statusHeartbeatAt: Date.parse(ready?.lastHeartbeatTime ?? ""),
    };
    this.busOf("node", "thief").publish("asked.condition", { ...this.named(), basis, conditions }, null);
    this.advance(S);
  }

  askEviction(service: "node" | "taint-manager", fields: Partial<BodyOf<"asked.eviction">>, node = NODE): void {
    const name = `pod-${node}`;
    const target = { namespace: "default", name, uid: this.uidOf(name), node };
    const ask = { ...target, mode: "taint", deadlineAt: this.clock.wallMs(), taint: null, ...fields } as const;
    this.busOf(service, "thief").publish("asked.eviction", ask, null);
    this.advance(S);
  }

  uidOf(pod: string): string {
    return this.read({ kind: "Pod", namespace: "default", name: pod })?.metadata.uid ?? "";
  }

  /** The node without what its kubelet changes by itself. */
  shown(name = NODE): unknown {
    const metadata = this.read({ kind: "Node", namespace: "", name })?.metadata;
    return {
      labels: metadata?.labels,
      annotations: metadata?.annotations,
      taints: this.taints(name),
      conditions: this.conditions(name),
    };
  }
}

const evicting = (key: string) => ({ key, effect: "NoExecute" });

describe("with the seed of a zone, on a node that is Ready", () => {
  test.each<[string, Partial<BodyOf<"asked.taint">>]>([
    ["a NoExecute taint of any key", { add: [evicting(EVIL)] }],
    ["a NoExecute taint of our own", { add: [evicting(UNREACHABLE)] }],
    ["one under the name of a status that the node does not have", { add: [evicting(NOT_READY)], ready: "False" }],
    ["one that is said to stand already", { taints: [evicting(EVIL)], add: [evicting(UNREACHABLE)] }],
    [
      "one that is said to stand beside a taint that goes",
      { taints: [evicting(EVIL), evicting(UNREACHABLE)], remove: [evicting(UNREACHABLE)], why: "healing" },
    ],
    ["a NoSchedule taint of any key", { add: [{ key: EVIL, effect: "NoSchedule" }], why: "conditions" }],
    ["a NoExecute taint for its conditions", { add: [evicting(UNREACHABLE)], why: "conditions" }],
  ])("%s is not set", (_what, fields) => {
    const world = new Robbed();
    const before = world.shown();
    world.askTaint("zone", fields);
    expect(world.shown()).toEqual(before);
    expect([world.tainted, world.deleted]).toEqual([[], []]);
  });

  test("taints of other owners are not taken away", () => {
    const world = new Robbed();
    world.taint(NODE, [{ key: EVIL, effect: "NoSchedule" }]);
    world.advance(S);
    world.askTaint("zone", { remove: [{ key: EVIL, effect: "NoSchedule" }], why: "healing" });
    expect(world.taints(NODE)).toEqual([`${EVIL}:NoSchedule`]);
  });
});

describe("with the seed of node or taint-manager", () => {
  test.each<[string, "node" | "taint-manager", Partial<BodyOf<"asked.label">>]>([
    ["a node-restriction label", "taint-manager", { labels: { "node-restriction.kubernetes.io/tier": "secret" } }],
    ["a role", "node", { labels: { "node-role.kubernetes.io/control-plane": "" } }],
    [
      "an old name of a label that differs from the new one",
      "node",
      { labels: { "beta.kubernetes.io/os": "windows" } },
    ],
    ["an annotation of another owner", "taint-manager", { annotations: { "example.com/owner": "thief" } }],
    ["our own annotation with anything in it", "taint-manager", { annotations: { "vigil.v1/taints-seen": "x" } }],
    [
      "our own annotation about taints that do not stand",
      "taint-manager",
      { annotations: { "vigil.v1/taints-seen": `{"${EVIL}:NoExecute":"2026-01-01T00:00:00Z"}` } },
    ],
    ["the record of a swap", "taint-manager", { annotations: { "vigil.v1/taint-swap": "{}" } }],
  ])("%s is not written on a node", (_what, service, fields) => {
    const world = new Robbed();
    const before = world.shown();
    world.askLabel(service, fields);
    expect(world.shown()).toEqual(before);
  });

  test.each([
    ["a type that Vigil never forces", { type: "Evil", status: "True", reason: "r", message: "m" }],
    ["a status that Vigil never forces", { type: "MemoryPressure", status: "True", reason: "r", message: "m" }],
    ["words that are not Vigil's", { type: "Ready", status: "Unknown", reason: "r", message: "m" }],
  ] as const)("a condition with %s is not written", (_what, condition) => {
    const world = new Robbed();
    const before = world.shown();
    world.askCondition([{ ...condition, heartbeatAt: null }]);
    expect(world.shown()).toEqual(before);
  });
});

describe("with the seed of node or taint-manager, a pod that tolerates its node's taint", () => {
  /** A node that was tainted a moment ago, whose pod may stay for 300 s. */
  function tainted(profile: Partial<Profile> = {}): Robbed {
    const world = new Robbed(profile);
    const timeAdded = new Date(world.clock.wallMs()).toISOString().replace(/\.\d+Z$/, "Z");
    world.taint(NODE, [{ ...evicting(UNREACHABLE), timeAdded }]);
    return world;
  }

  test.each<[string, "node" | "taint-manager", Partial<BodyOf<"asked.eviction">>]>([
    ["by a deadline in the year 9999", "taint-manager", { deadlineAt: INSTANT_MAX }],
    ["by a deadline of long ago", "taint-manager", { deadlineAt: 0 }],
    ["by direct mode where taints decide", "node", { mode: "direct" }],
  ])("is not evicted %s", (_what, service, fields) => {
    const world = tainted();
    world.silence([NODE]);
    world.advance(60 * S);
    world.askEviction(service, fields);
    expect(world.deleted).toEqual([]);
  });

  test("is not evicted by a taint where direct mode decides", () => {
    const world = tainted({ evictionMode: "direct" });
    world.advance(400 * S);
    world.askEviction("taint-manager", { deadlineAt: INSTANT_MAX });
    expect(world.deleted).toEqual([]);
  });
});

describe("at worst", () => {
  test("the seed of a node sets a live node Unknown until its kubelet posts again, and no taint evicts meanwhile", () => {
    const world = new Robbed();
    const stopped = { reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
    world.askCondition([{ type: "Ready", status: "Unknown", ...stopped, heartbeatAt: null }]);
    expect(world.conditions(NODE)).toContain("Ready=Unknown");
    world.kubelet(NODE).post();
    world.advance(S);
    expect(world.conditions(NODE)).toContain("Ready=True");
    expect(world.deleted).toEqual([]);
  });

  test("the seed of a zone taints a node that is down without its turn, and takes its taint away until it is set again", () => {
    const world = new Robbed();
    world.silence([NODE]);
    world.advance(51 * S);
    expect(world.tainted.map(({ name }) => name)).toEqual([NODE]);
    world.askTaint("zone", { remove: [evicting(UNREACHABLE)], ready: "Unknown", why: "healing" });
    expect(world.healed.map(({ name }) => name)).toEqual([NODE]);
    world.askTaint("zone", { add: [evicting(UNREACHABLE)], ready: "Unknown" });
    expect(world.taints(NODE)).toContain(`${UNREACHABLE}:NoExecute`);
  });

  test("the seed of a taint-manager cuts a tolerated time short, but never one without an end", () => {
    const world = new Robbed();
    world.addTolerantPod(NODE, "for-ever", [{ operator: "Exists" }]);
    world.advance(300 * S);
    world.silence([NODE]);
    world.advance(60 * S);
    const since = new Date(world.clock.wallMs() - 600 * S).toISOString();
    const annotation = `{"${UNREACHABLE}:NoExecute":"${since}"}`;
    // The taint-manager takes the record away, but not before the request for the eviction has come.
    world.api.faults.add({
      fault: { kind: "latency", requestMs: 0.5 * S },
      when: ({ body }) => body?.includes('"vigil.v1/taints-seen":null') === true,
    });
    world.askLabel("taint-manager", { annotations: { "vigil.v1/taints-seen": annotation } }, 0);
    world.askEviction("taint-manager", {});
    world.askEviction("taint-manager", { name: "for-ever", uid: world.uidOf("for-ever") });
    expect(world.deleted.map(({ name }) => name)).toEqual([`pod-${NODE}`]);
  });

  test("the seed of a writer holds the turn of a node back, and brings none forward", () => {
    const world = new Robbed();
    world.busOf("zone", "ear").subscribe("asked.taint", "all", ({ id, body: { node, uid } }) => {
      const target = { ask: "asked.taint", kind: "Node", namespace: "", name: node, uid, node } as const;
      const said = { retrying: false, latencyMs: 0, change: "", detail: "", resourceVersion: null };
      world.busOf("node-writer", "thief").publish("done.write", { ...target, ...said, outcome: "refused" }, id);
    });
    world.silence(["a-0", "a-1", "a-2"]);
    world.advance(100 * S);
    const taintedMs = world.tainted.map(({ atMs }) => atMs);
    expect(taintedMs).toHaveLength(3);
    for (const [index, atMs] of taintedMs.slice(1).entries()) {
      expect(atMs - (taintedMs[index] ?? 0)).toBeGreaterThanOrEqual(9_000);
    }
  });

  test("the seed of the observer invents a node that is down, and its live state refutes that", () => {
    const world = new Robbed();
    const seen = world.said("observed.node").findLast(({ body }) => body.node === NODE)?.body;
    if (seen === undefined) throw new Error("the node was not observed");
    const conditions = seen.conditions.map((each) => ({ ...each, status: "Unknown" as const }));
    for (let passed = 0; passed < 30; passed++) {
      world.busOf("observer", "thief").publish("observed.node", { ...seen, conditions }, null);
      world.advance(S);
    }
    expect([world.tainted, world.deleted]).toEqual([[], []]);
    expect(world.conditions(NODE)).toContain("Ready=True");
  });
});
