/** The node-writer on a virtual API: what it reads, what it writes, and what it publishes. */
import { describe, expect, test } from "vitest";
import { INSTANT_MAX } from "../../protocols/bounds.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { NODE, Scene, UNREACHABLE } from "./node-writer-scene.ts";

describe("before Unknown is written", () => {
  test("the lease is read, then the known version patched", () => {
    const scene = new Scene();
    scene.ask("asked.condition", scene.conditionAsk());
    expect(scene.calls).toEqual(["get leases", "patch nodes/status"]);
    expect(scene.outcomes()).toEqual(["ok"]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=Unknown");
  });

  test("a newer node is read, its lease again, then patched", () => {
    const scene = new Scene();
    scene.ask("asked.condition", scene.conditionAsk({ resourceVersion: "1" }));
    scene.cluster.advance(1);
    const first = ["get leases", "patch nodes/status"];
    expect(scene.calls).toEqual([...first, "get nodes", "get leases", "patch nodes/status"]);
    expect(scene.outcomes()).toEqual(["conflict…", "ok"]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=Unknown");
  });

  test("a lease newer than the verdict refutes it", () => {
    const scene = new Scene();
    scene.kubelet.renew();
    const id = scene.ask("asked.condition", scene.conditionAsk());
    expect(scene.calls).toEqual(["get leases"]);
    expect(scene.cluster.published("done.write")).toMatchObject([
      { cause: id, body: { outcome: "refused", retrying: false, ask: "asked.condition", name: "node-1", change: "" } },
    ]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=True");
  });

  test("an unreadable lease delays the write until it is read", () => {
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

  test("a later heartbeat refutes the verdict", () => {
    const scene = new Scene();
    const ask = scene.conditionAsk();
    scene.cluster.advance(5_000);
    scene.kubelet.post();
    scene.ask("asked.condition", ask);
    scene.cluster.advance(1);
    expect(scene.outcomes()).toEqual(["conflict…", "refused"]);
    expect(scene.cluster.conditions("node-1")).toContain("Ready=True");
  });

  test("a change before it conflicts; both are read again", () => {
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

  test("another node of the same name is not written", () => {
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

test("labels are patched after a live read, and again after a failure", () => {
  const scene = new Scene();
  scene.cluster.patch(NODE, { metadata: { labels: { "kubernetes.io/os": "linux" } } });
  const { uid, resourceVersion } = scene.cluster.node("node-1").metadata;
  scene.cluster.api.faults.add({
    fault: { kind: "status", code: 500 },
    times: 1,
    when: ({ verb }) => verb === "patch",
  });
  scene.ask("asked.label", { node: "node-1", uid, resourceVersion, labels: { "beta.kubernetes.io/os": "linux" } });
  scene.cluster.advance(1_000);
  expect(scene.outcomes()).toEqual(["failed…", "ok"]);
  expect(scene.cluster.node("node-1").metadata.labels).toMatchObject({ "beta.kubernetes.io/os": "linux" });
});

test("a patch that waits for another one of its node stamps its taint when it is sent", () => {
  const scene = new Scene();
  scene.cluster.patch(NODE, { metadata: { labels: { "kubernetes.io/os": "linux" } } });
  scene.cluster.api.faults.add({ fault: { kind: "stall" }, when: ({ verb }) => verb === "patch", times: 1 });
  const { uid, resourceVersion } = scene.cluster.node("node-1").metadata;
  scene.ask("asked.label", { node: "node-1", uid, resourceVersion, labels: { "beta.kubernetes.io/os": "linux" } });
  scene.cluster.advance(10);
  scene.ask("asked.taint", scene.taintAsk());
  scene.cluster.advance(15_000);
  const taint = scene.cluster.node("node-1").spec.taints?.find(({ key }) => key.endsWith("memory-pressure"));
  expect(taint?.timeAdded).toBe("2026-01-01T00:00:15Z");
});

describe("a record of when taints began", () => {
  const SEEN = "vigil.v1/taints-seen";
  const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };

  function tainted(): { readonly scene: Scene; readonly record: () => BodyOf<"asked.label"> } {
    const scene = new Scene();
    scene.cluster.patch(NODE, { spec: { taints: [MAINTENANCE] } });
    const record = (): BodyOf<"asked.label"> => {
      const { metadata, spec } = scene.cluster.node("node-1");
      const { uid, resourceVersion } = metadata;
      const annotations = { [SEEN]: '{"maintenance:NoExecute":"2026-01-01T00:00:00.000000Z"}' };
      scene.calls.length = 0;
      return { node: "node-1", uid, resourceVersion, labels: {}, annotations, taints: spec.taints ?? [] };
    };
    return { scene, record };
  }

  test("is patched onto its version without a read", () => {
    const { scene, record } = tainted();
    scene.ask("asked.label", record());
    expect(scene.calls).toEqual(["patch nodes"]);
    expect(scene.outcomes()).toEqual(["ok"]);
    expect(Object.keys(scene.cluster.records("node-1"))).toEqual([SEEN]);
  });

  test("is removed from its version without a read", () => {
    const { scene, record } = tainted();
    scene.ask("asked.label", record());
    scene.cluster.advance(1_000);
    scene.cluster.patch(NODE, { spec: { taints: null } });
    scene.ask("asked.label", { ...record(), annotations: { [SEEN]: null } });
    expect(scene.calls).toEqual(["patch nodes"]);
    expect(scene.outcomes()).toEqual(["ok", "ok"]);
    expect(scene.cluster.records("node-1")).toEqual({});
  });

  test("is not removed from a node whose taint came again", () => {
    const { scene, record } = tainted();
    scene.ask("asked.label", record());
    scene.cluster.advance(1_000);
    const removal = { ...record(), annotations: { [SEEN]: null } };
    scene.cluster.patch(NODE, { spec: { taints: [{ ...MAINTENANCE, timeAdded: "2026-01-01T00:05:00Z" }] } });
    scene.ask("asked.label", removal);
    scene.cluster.advance(1);
    expect(scene.outcomes()).toEqual(["ok", "conflict…", "refused"]);
    expect(Object.keys(scene.cluster.records("node-1"))).toEqual([SEEN]);
  });

  test("is warned about while it is denied", () => {
    const { scene, record } = tainted();
    const mended = scene.cluster.api.faults.add({
      fault: { kind: "status", code: 403 },
      when: ({ verb }) => verb === "patch",
    });
    scene.ask("asked.label", record());
    mended();
    scene.cluster.advance(1_000);
    scene.ask("asked.label", record());
    scene.cluster.advance(1_000);
    const lines = scene.process.log.lines.map(({ message }) => message);
    expect(lines.find((line) => line.startsWith("a record on a node cannot be written"))).toBeDefined();
    expect(lines.at(-1)).toBe("a record on a node is written again");
  });

  test("reads a node that has changed since", () => {
    const { scene, record } = tainted();
    scene.ask("asked.label", { ...record(), resourceVersion: "1" });
    scene.cluster.advance(1);
    expect(scene.calls).toEqual(["patch nodes", "get nodes", "patch nodes"]);
    expect(scene.outcomes()).toEqual(["conflict…", "ok"]);
  });

  test("about a taint the node lacks is refused", () => {
    const { scene, record } = tainted();
    scene.cluster.patch(NODE, { spec: { taints: [] } });
    scene.ask("asked.label", { ...record(), taints: [MAINTENANCE] });
    scene.cluster.advance(1);
    expect(scene.outcomes()).toEqual(["conflict…", "refused"]);
    expect(scene.cluster.records("node-1")).toEqual({});
  });

  test("about a taint that came again is refused", () => {
    const { scene, record } = tainted();
    const ask = record();
    scene.cluster.patch(NODE, { spec: { taints: [{ ...MAINTENANCE, timeAdded: "2026-01-01T00:05:00Z" }] } });
    scene.ask("asked.label", ask);
    scene.cluster.advance(1);
    expect(scene.outcomes()).toEqual(["conflict…", "refused"]);
    expect(scene.cluster.records("node-1")).toEqual({});
  });

  test("is written on a node without annotations", () => {
    const { scene, record } = tainted();
    scene.cluster.patch(NODE, { metadata: { annotations: null } });
    scene.ask("asked.label", record());
    scene.cluster.advance(1);
    expect(scene.outcomes().at(-1)).toBe("ok");
    expect(Object.keys(scene.cluster.records("node-1"))).toEqual([SEEN]);
  });
});

test("a denied write is reported and not retried by the writer", () => {
  const scene = new Scene();
  scene.cluster.api.faults.add({ fault: { kind: "status", code: 403 }, when: ({ verb }) => verb === "patch" });
  scene.ask("asked.taint", scene.taintAsk({ why: "conditions" }));
  scene.cluster.advance(60_000);
  expect(scene.outcomes()).toEqual(["denied"]);
});

test("healing goes before verdicts, and verdicts before other taints", () => {
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
