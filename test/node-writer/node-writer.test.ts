/** The node-writer on a virtual API: what it reads before it writes, what it writes, and what it tells of it. */
import { describe, expect, test } from "vitest";
import { INSTANT_MAX } from "../../protocols/bounds.ts";
import type { BodyOf, MessageType } from "../../protocols/messages.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { Call } from "../../services/apiserver/routes.ts";
import { nodeWriterService } from "../../services/node-writer/node-writer.service.ts";
import { typedBus } from "../../services/runtime/bus.ts";
import { createMetrics } from "../../services/runtime/metrics.ts";
import { recordingLog } from "../support/recording-log.ts";
import type { TestKubelet } from "../support/test-kubelet.ts";
import { VirtualCluster } from "../support/virtual-cluster.ts";

const UNREACHABLE = { key: "node.kubernetes.io/unreachable", effect: "NoExecute" };
const NODE = { kind: "Node", namespace: "", name: "node-1" } as const;

/** A node, a node-writer, and someone who asks. */
class Scene {
  readonly cluster: VirtualCluster;
  readonly kubelet: TestKubelet;
  readonly calls: string[] = [];

  constructor(profile: Partial<Profile> = {}) {
    this.cluster = new VirtualCluster({ profile });
    this.kubelet = this.cluster.addNode({ name: "node-1", leasePeriodMs: null, statusPeriodMs: null });
    this.cluster.start({ "node-writer": nodeWriterService });
    const note = ({ verb, resource, subresource }: Call): boolean => {
      this.calls.push(`${verb} ${resource.plural}${subresource === "" ? "" : `/${subresource}`}`);
      return false;
    };
    this.cluster.api.faults.add({ fault: { kind: "stall" }, when: note });
  }

  /** Asks as a service would, and lets the writer work. */
  ask<T extends MessageType>(type: T, body: BodyOf<T>, service = "node"): string {
    const { clock, transport } = this.cluster;
    const who = { service, member: "asker", log: recordingLog(), metrics: createMetrics() };
    const bus = typedBus({ transport, clock, cluster: "test", mailboxMessagesMax: 1_000, ...who });
    const id = bus.publish(type, body, null);
    this.cluster.advance(0);
    return id ?? "";
  }

  conditionAsk(fields: Partial<BodyOf<"asked.condition">> = {}, node = "node-1"): BodyOf<"asked.condition"> {
    const { uid, resourceVersion } = this.cluster.node(node).metadata;
    const { lastHeartbeatTime = "" } =
      this.cluster.node(node).status.conditions?.find(({ type }) => type === "Ready") ?? {};
    const conditions = [
      { type: "Ready", status: "Unknown" as const, reason: "NodeStatusUnknown", message: "m", heartbeatAt: null },
    ];
    const basis = { leaseRenewedAt: null, statusHeartbeatAt: Date.parse(lastHeartbeatTime) };
    this.calls.length = 0;
    return { node, uid, resourceVersion, basis, conditions, ...fields };
  }

  taintAsk(fields: Partial<BodyOf<"asked.taint">> = {}, node = "node-1"): BodyOf<"asked.taint"> {
    const { metadata, spec } = this.cluster.node(node);
    const { uid, resourceVersion } = metadata;
    const [add, remove] = [[UNREACHABLE], []];
    this.calls.length = 0;
    return {
      node,
      uid,
      resourceVersion,
      taints: spec.taints ?? [],
      add,
      remove,
      ready: "True",
      why: "turn",
      ...fields,
    };
  }

  /** What came of the asks, as `outcome` with a mark for those that are tried again. */
  outcomes(): string[] {
    return this.cluster.said("done.write").map(({ body }) => `${body.outcome}${body.retrying ? "…" : ""}`);
  }
}

describe("before Unknown is written", () => {
  test("the lease is read live, and the patch of the version that was told follows", () => {
    const scene = new Scene();
    scene.ask("asked.condition", scene.conditionAsk());
    expect(scene.calls).toEqual(["get leases", "patch nodes/status"]);
    expect(scene.outcomes()).toEqual(["ok"]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=Unknown");
  });

  test("a node that has moved on from the version told is read live, its lease again, and patched", () => {
    const scene = new Scene();
    scene.ask("asked.condition", scene.conditionAsk({ resourceVersion: "1" }));
    scene.cluster.advance(1);
    const first = ["get leases", "patch nodes/status"];
    expect(scene.calls).toEqual([...first, "get nodes", "get leases", "patch nodes/status"]);
    expect(scene.outcomes()).toEqual(["conflict…", "ok"]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=Unknown");
  });

  test("a lease newer than the verdict knew refutes it", () => {
    const scene = new Scene();
    scene.kubelet.renew();
    const id = scene.ask("asked.condition", scene.conditionAsk());
    expect(scene.calls).toEqual(["get leases"]);
    expect(scene.cluster.said("done.write")).toMatchObject([
      { cause: id, body: { outcome: "refused", retrying: false, ask: "asked.condition", name: "node-1", change: "" } },
    ]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=True");
  });

  test("a lease that cannot be read holds the write back until it can", () => {
    const scene = new Scene();
    const ask = scene.conditionAsk();
    const mended = scene.cluster.api.faults.add({
      fault: { kind: "status", code: 500 },
      when: ({ verb }) => verb === "get",
    });
    scene.ask("asked.condition", ask);
    scene.cluster.advance(10_000);
    mended();
    expect(scene.cluster.conditions("node-1")).toContain("Ready=True");
    scene.cluster.advance(60_000);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=Unknown");
    expect(scene.outcomes().at(-1)).toBe("ok");
  });

  test("a heartbeat that came since refutes the verdict", () => {
    const scene = new Scene();
    const ask = scene.conditionAsk();
    scene.cluster.advance(5_000);
    scene.kubelet.post();
    scene.ask("asked.condition", ask);
    scene.cluster.advance(1);
    expect(scene.outcomes()).toEqual(["conflict…", "refused"]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=True");
  });

  test("a change between the reads and the patch conflicts, and everything is read anew", () => {
    const scene = new Scene();
    const ask = scene.conditionAsk();
    let isFirst = true;
    scene.cluster.api.faults.add({
      fault: { kind: "latency", requestMs: 100 },
      when: ({ verb, subresource }) => verb === "patch" && subresource === "status" && isFirst,
    });
    scene.ask("asked.condition", ask);
    isFirst = false;
    scene.cluster.patch(NODE, { metadata: { labels: { a: "b" } } });
    scene.calls.length = 0;
    scene.cluster.advance(200);
    expect(scene.calls).toEqual(["get nodes", "get leases", "patch nodes/status"]);
    expect(scene.outcomes()).toEqual(["conflict…", "ok"]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=Unknown");
    expect(scene.cluster.node("node-1").metadata.labels).toMatchObject({ a: "b" });
  });

  test("another node under the name is never written", () => {
    const scene = new Scene();
    const ask = scene.conditionAsk();
    scene.cluster.write({ verb: "delete", ref: NODE, urgency: 0 });
    scene.kubelet.register();
    scene.kubelet.stop();
    scene.ask("asked.condition", { ...ask, basis: { ...ask.basis, leaseRenewedAt: INSTANT_MAX } });
    scene.cluster.advance(1);
    expect(scene.outcomes()).toEqual(["conflict…", "gone"]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=True");
  });
});

describe("taints", () => {
  test("are patched without a read while nothing has changed", () => {
    const scene = new Scene();
    scene.ask("asked.taint", scene.taintAsk());
    expect(scene.calls).toEqual(["patch nodes"]);
    expect(scene.cluster.taints("node-1")).toContain("node.kubernetes.io/unreachable:NoExecute");
  });

  test("that someone added in between are kept", () => {
    const scene = new Scene();
    const ask = scene.taintAsk();
    scene.cluster.patch(NODE, { spec: { taints: [{ key: "human", effect: "NoSchedule" }] } });
    scene.ask("asked.taint", ask);
    scene.cluster.advance(0);
    expect(scene.cluster.taints("node-1")).toEqual(["human:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]);
  });

  test("are not set on a node that got well in between", () => {
    const scene = new Scene();
    const ask = scene.taintAsk({ ready: "Unknown", resourceVersion: "1" });
    scene.ask("asked.taint", ask);
    scene.cluster.advance(0);
    expect(scene.outcomes()).toEqual(["conflict…", "refused"]);
    expect(scene.cluster.taints("node-1")).not.toContain("node.kubernetes.io/unreachable:NoExecute");
  });

  test("of the zone and of the node are carried out side by side: neither's ask replaces the other's", () => {
    const scene = new Scene();
    const other = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };
    const [zone, node] = [scene.taintAsk(), scene.taintAsk({ add: [other], why: "conditions" })];
    const slow = scene.cluster.api.faults.add({ fault: { kind: "latency", requestMs: 500 } });
    scene.ask("asked.taint", zone, "zone");
    scene.ask("asked.taint", node, "node");
    scene.cluster.advance(5_000);
    slow();
    expect(scene.cluster.taints("node-1")).toEqual(
      expect.arrayContaining([
        "node.kubernetes.io/unreachable:NoExecute",
        "node.kubernetes.io/memory-pressure:NoSchedule",
      ]),
    );
  });
});

test("labels are patched, and once more after a failure", () => {
  const scene = new Scene();
  const { uid, resourceVersion } = scene.cluster.node("node-1").metadata;
  scene.cluster.api.faults.add({
    fault: { kind: "status", code: 500 },
    times: 1,
    when: ({ verb }) => verb === "patch",
  });
  scene.ask("asked.label", { node: "node-1", uid, resourceVersion, labels: { a: "1" } });
  scene.cluster.advance(1_000);
  expect(scene.outcomes()).toEqual(["failed…", "ok"]);
  expect(scene.cluster.node("node-1").metadata.labels).toMatchObject({ a: "1" });
});

test("a write that is denied is told as such and not repeated by the writer", () => {
  const scene = new Scene();
  scene.cluster.api.faults.add({ fault: { kind: "status", code: 403 }, when: ({ verb }) => verb === "patch" });
  scene.ask("asked.taint", scene.taintAsk({ why: "conditions" }));
  scene.cluster.advance(60_000);
  expect(scene.outcomes()).toEqual(["denied"]);
});

test("a turn whose write fails is not tried again: its zone has paid for one", () => {
  const scene = new Scene();
  scene.cluster.api.faults.add({
    fault: { kind: "status", code: 500 },
    times: 1,
    when: ({ verb }) => verb === "patch",
  });
  scene.ask("asked.taint", scene.taintAsk({ why: "turn" }), "zone");
  scene.cluster.advance(60_000);
  expect(scene.outcomes()).toEqual(["failed"]);
  expect(scene.cluster.taints("node-1")).not.toContain("node.kubernetes.io/unreachable:NoExecute");
});

describe("an ask for the same that comes while a try is under way", () => {
  function askTwice(again: Partial<BodyOf<"asked.taint">>): Scene {
    const scene = new Scene();
    const ask = scene.taintAsk();
    scene.cluster.api.faults.add({ fault: { kind: "latency", requestMs: 500 }, when: ({ verb }) => verb === "patch" });
    scene.ask("asked.taint", ask);
    scene.cluster.advance(100);
    scene.ask("asked.taint", { ...ask, ...again });
    scene.cluster.advance(5_000);
    return scene;
  }

  test("is done with it", () => {
    const scene = askTwice({});
    expect(scene.calls).toEqual(["patch nodes"]);
    expect(scene.outcomes()).toEqual(["ok"]);
  });

  test("is tried when its asker has seen another version since", () => {
    const scene = askTwice({ resourceVersion: "1" });
    expect(scene.calls).toEqual(["patch nodes", "patch nodes", "get nodes"]);
    expect(scene.outcomes()).toEqual(["ok", "conflict…", "ok"]);
  });
});

test("where one request may be under way, healing goes before verdicts, and those go before other taints", () => {
  const scene = new Scene({ writesInFlightMax: 1 });
  const { cluster } = scene;
  for (const name of ["tainted", "judged", "healed"]) {
    cluster.addNode({ name, leasePeriodMs: null, statusPeriodMs: null });
  }
  cluster.patch({ ...NODE, name: "healed" }, { spec: { taints: [UNREACHABLE] } });
  const written: string[] = [];
  const note = ({ verb, name }: Call): boolean => verb === "patch" && written.push(name) < 0;
  cluster.api.faults.add({ fault: { kind: "stall" }, when: note });
  const first = scene.taintAsk({ why: "conditions" });
  const tainted = scene.taintAsk({ why: "conditions" }, "tainted");
  const judged = scene.conditionAsk({}, "judged");
  const healed = scene.taintAsk({ why: "healing", add: [], remove: [UNREACHABLE] }, "healed");
  const slow = cluster.api.faults.add({ fault: { kind: "latency", requestMs: 50 } });
  for (const ask of [first, tainted]) scene.ask("asked.taint", ask);
  scene.ask("asked.condition", judged);
  scene.ask("asked.taint", healed);
  cluster.advance(2_000);
  slow();
  expect(written).toEqual(["node-1", "healed", "judged", "tainted"]);
});
