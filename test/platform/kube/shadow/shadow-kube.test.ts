/** The port of shadow mode on the embedded API: unsent writes of any process show in watches and live reads. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../../protocols/messages.ts";
import type { ObservedNode, Taint } from "../../../../protocols/objects.ts";
import { type BoundPod, type KubeObject, type ReadReply, Urgency } from "../../../../protocols/ports.ts";
import { ShadowKube } from "../../../../services/platform/kube/shadow/shadow-kube.ts";
import { EvictionWorld } from "../../../support/eviction-world.ts";
import { recordingLog } from "../../../support/recording-log.ts";

const TAINT: Taint = { key: "maintenance", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };

/** A node with a pod, the port, and a way to publish as another process. */
function shadowStage() {
  const world = new EvictionWorld();
  world.addZone("a", 1);
  world.addTolerantPod("a-0", "web");
  const { uid } = world.node("a-0").metadata;
  const shadow = new ShadowKube({
    kube: world.kube,
    bus: world.busOf("observer", "here"),
    clock: world.clock,
    log: recordingLog(),
  });
  const [writer, observer] = [world.busOf("node-writer", "there"), world.busOf("observer", "there")];
  const done = (changes: Partial<BodyOf<"done.write">>): void => {
    const target = { ask: "asked.taint", kind: "Node" as const, namespace: "", name: "a-0", uid, node: "a-0" };
    const outcome = { outcome: "shadowed" as const, retrying: false, latencyMs: 0, change: "", detail: "" };
    writer.publish("done.write", { ...target, ...outcome, resourceVersion: null, ...changes }, null);
    world.advance(0);
  };
  const nodes: ObservedNode[] = [];
  const pods: BoundPod[] = [];
  const watch = (): void => {
    shadow.watch("nodes", { changed: (node) => nodes.push(node), gone: () => {}, state: () => {} });
    shadow.watch("leases", { changed: () => {}, gone: () => {}, state: () => {} });
    shadow.watch("pods", { changed: (pod) => pods.push(pod), gone: () => {}, state: () => {} });
    world.advance(0);
  };
  const read = (kind: "Node" | "Pod", name: string): KubeObject | null => {
    const replies: ReadReply[] = [];
    shadow.read({ kind, namespace: kind === "Pod" ? "default" : "", name }, (reply) => replies.push(reply));
    world.advance(0);
    return replies[0]?.outcome === "ok" ? replies[0].object : null;
  };
  return { world, uid, shadow, observer, done, watch, nodes, pods, read };
}

const taintsOf = (node: ObservedNode | undefined) => node?.taints.filter(({ key }) => key === TAINT.key);

describe("an unsent taint", () => {
  test("shows in watch and live read, with a version of its own", () => {
    const { done, watch, nodes, read } = shadowStage();
    watch();
    const before = nodes.at(-1)?.resourceVersion;
    done({ nodeShadow: { added: [TAINT] } });
    expect(taintsOf(nodes.at(-1))).toEqual([TAINT]);
    expect(nodes.at(-1)?.resourceVersion).toBe(`${before}.shadow1`);
    expect(read("Node", "a-0")).toMatchObject({ spec: { taints: expect.arrayContaining([TAINT]) } });
  });

  test("of another node with this name does not show", () => {
    const { done, watch, nodes, read } = shadowStage();
    watch();
    done({ uid: "of-another", nodeShadow: { added: [TAINT] } });
    expect(taintsOf(nodes.at(-1))).toEqual([]);
    expect(JSON.stringify(read("Node", "a-0"))).not.toContain(TAINT.key);
  });

  test("is known to a process that joins later", () => {
    const { world, observer, watch, nodes, read } = shadowStage();
    const seen: ObservedNode[] = [];
    world.kube.watch("nodes", { changed: (node) => seen.push(node), gone: () => {}, state: () => {} });
    world.advance(0);
    const [node] = seen;
    if (node === undefined) throw new Error("there is no node");
    observer.publish("observed.node", { ...node, taints: [TAINT], shadow: { added: [TAINT] } }, null);
    world.advance(0);
    expect(read("Node", "a-0")).toMatchObject({ spec: { taints: expect.arrayContaining([TAINT]) } });
    observer.publish("observed.node", node, null);
    world.advance(0);
    expect(JSON.stringify(read("Node", "a-0"))).not.toContain(TAINT.key);
    observer.publish("observed.node", { ...node, taints: [TAINT], shadow: { added: [TAINT] } }, null);
    world.advance(0);
    watch();
    expect(taintsOf(nodes.at(-1))).toEqual([TAINT]);
  });
});

describe("an unsent deletion", () => {
  test("shows while its node has a NoExecute taint", () => {
    const { world, done, watch, pods, read } = shadowStage();
    watch();
    const uid = pods.at(-1)?.pod.uid ?? "";
    const deletedAt = world.clock.wallMs();
    done({ nodeShadow: { added: [TAINT] } });
    done({ ask: "asked.eviction", kind: "Pod", namespace: "default", name: "web", uid, podShadow: { deletedAt } });
    expect(pods.at(-1)?.pod).toMatchObject({ deletionAt: deletedAt, shadow: { deletedAt } });
    expect(read("Pod", "web")).toHaveProperty("metadata.deletionTimestamp");
    done({ nodeShadow: { removed: [TAINT] } });
    expect(pods.at(-1)?.pod).toMatchObject({ deletionAt: null });
    expect(read("Pod", "web")).not.toHaveProperty("metadata.deletionTimestamp");
  });
});

test("an unsent deletion does not outlast its node", () => {
  const { world, done, watch, pods } = shadowStage();
  watch();
  const uid = pods.at(-1)?.pod.uid ?? "";
  const podShadow = { deletedAt: world.clock.wallMs() };
  done({ nodeShadow: { added: [TAINT] } });
  done({ ask: "asked.eviction", kind: "Pod", namespace: "default", name: "web", uid, podShadow });
  world.write({ verb: "delete", ref: { kind: "Node", namespace: "", name: "a-0" }, urgency: Urgency.healing });
  world.advance(0);
  expect(pods.at(-1)?.pod).toMatchObject({ deletionAt: null });
});

test("a write that was sent leaves nothing", () => {
  const { done, watch, nodes } = shadowStage();
  watch();
  done({ outcome: "ok", nodeShadow: { added: [TAINT] } });
  expect(taintsOf(nodes.at(-1))).toEqual([]);
});
