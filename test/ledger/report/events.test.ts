/** Kubernetes Events, from the received message to the written object. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../../protocols/messages.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedCondition,
  askedEviction,
  doneNode,
  donePod,
  judgedNode,
  judgedPod,
  type LedgerWorld,
  ledgerWorld,
  WEB,
  type WrittenEvent,
} from "../ledger-world.ts";

const eventsWith = ({ kube }: LedgerWorld, reason: string): WrittenEvent[] =>
  kube.events.filter((event) => event.reason === reason);
const webObject = { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web", uid: "uid-web" };

describe("Events about nodes", () => {
  test("R2.9: a new node is registered once, under its real uid", () => {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("observed.node", observedNode("n-1", { resourceVersion: "2" }), null);
    expect(world.kube.events).toEqual([
      {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: expect.stringMatching(/^n-1\.[0-9a-f]{15,16}$/), namespace: "default" },
        involvedObject: { apiVersion: "v1", kind: "Node", name: "n-1", uid: "uid-n-1" },
        reason: "RegisteredNode",
        message: "Node n-1 event: Registered Node n-1 in Controller",
        source: { component: "node-controller" },
        firstTimestamp: "2026-01-01T00:00:00Z",
        lastTimestamp: "2026-01-01T00:00:00Z",
        count: 1,
        type: "Normal",
        reportingComponent: "node-controller",
        reportingInstance: "",
      },
    ]);
  });

  test("an early judgement does not suppress a registration", () => {
    const world = ledgerWorld();
    world.receive("judged.node", judgedNode("n-1"), null);
    world.receive("observed.node", observedNode("n-1"), null);
    expect(eventsWith(world, "RegisteredNode")).toHaveLength(1);
  });

  test("R2.10: a deleted node is removed, under its uid", () => {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    expect(eventsWith(world, "RemovingNode")).toMatchObject([
      { message: "Node n-1 event: Removing Node n-1 from Controller", involvedObject: { uid: "uid-n-1" } },
    ]);
  });

  test("the departure of an earlier node of that name is ignored", () => {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("observed.gone", { node: "n-1", uid: "an older one" }, null);
    expect(eventsWith(world, "RemovingNode")).toEqual([]);
  });

  test("a re-created node is removed and registered, by uid", () => {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    world.receive("observed.node", observedNode("n-1", { uid: "new" }), null);
    expect(world.kube.events.map(({ reason, involvedObject }) => [reason, involvedObject.uid])).toEqual([
      ["RegisteredNode", "uid-n-1"],
      ["RemovingNode", "uid-n-1"],
      ["RegisteredNode", "new"],
    ]);
  });
});

test("the mirror of a static pod that a taint would evict gets one Event", () => {
  const world = ledgerWorld();
  const taint = { key: "maintenance", effect: "NoExecute" };
  world.receive("judged.pod", judgedPod({ eviction: "none", deadlineAt: null, taint, kept: "mirror" }), null);
  const message = "Keeping Pod default/web despite maintenance:NoExecute: it mirrors a static pod";
  const event = expect.objectContaining({ involvedObject: webObject, message, type: "Warning" });
  expect(eventsWith(world, "TaintManagerEviction")).toEqual([event]);
});

describe("NodeNotReady", () => {
  function silenced(ready: "True" | "False", outcome: "ok" | "refused" | "shadowed" = "ok"): LedgerWorld {
    const world = ledgerWorld();
    const conditions = [{ type: "Ready", status: ready, heartbeatAt: 0, transitionAt: 0 }];
    world.receive("observed.node", observedNode("n-1", { conditions }), null);
    const ask = world.receive("asked.condition", askedCondition("n-1"), null);
    world.receive("done.write", doneNode("asked.condition", "n-1", { outcome }), ask);
    return world;
  }

  test("R2.26: is written when Vigil changed Ready from True to Unknown", () => {
    expect(eventsWith(silenced("True"), "NodeNotReady")).toMatchObject([
      {
        type: "Normal",
        message: "Node n-1 status is now: NodeNotReady",
        source: { component: "node-controller" },
        involvedObject: { kind: "Node", uid: "uid-n-1" },
      },
    ]);
  });

  test("R2.28: is not written for a node whose kubelet reported False", () => {
    expect(eventsWith(silenced("False"), "NodeNotReady")).toEqual([]);
  });

  test("is not written when the write was refused or shadowed", () => {
    expect(eventsWith(silenced("True", "refused"), "NodeNotReady")).toEqual([]);
    expect(eventsWith(silenced("True", "shadowed"), "NodeNotReady")).toEqual([]);
  });

  test("is not written for a withdrawn verdict", () => {
    const world = silenced("True", "refused");
    const taken = world.receive("asked.condition", { ...askedCondition("n-1"), conditions: [] }, null);
    world.receive("done.write", doneNode("asked.condition", "n-1", { change: "" }), taken);
    expect(eventsWith(world, "NodeNotReady")).toEqual([]);
  });

  test("is not written where the writer found the verdict withdrawn", () => {
    const world = ledgerWorld();
    world.receive("observed.node", observedNode("n-1"), null);
    const ask = world.receive("asked.condition", askedCondition("n-1"), null);
    world.receive("done.write", doneNode("asked.condition", "n-1", { change: "", resourceVersion: null }), ask);
    expect(eventsWith(world, "NodeNotReady")).toEqual([]);
  });

  test("is written once per change, however often the request is repeated", () => {
    const world = silenced("True");
    const again = world.receive("asked.condition", askedCondition("n-1"), null);
    world.receive("done.write", doneNode("asked.condition", "n-1"), again);
    expect(eventsWith(world, "NodeNotReady")).toHaveLength(1);
  });

  test("is written again for the next change", () => {
    const world = silenced("True");
    world.receive("observed.node", observedNode("n-1", { resourceVersion: "5" }), null);
    const next = world.receive("asked.condition", askedCondition("n-1"), null);
    world.receive("done.write", doneNode("asked.condition", "n-1"), next);
    expect(world.kube.requests.at(-1)).toMatchObject({ verb: "patch", body: { count: 2 } });
  });

  test("R3.2: a marked pod gets a warning with its whole reference", () => {
    const world = ledgerWorld();
    const ask = world.receive("asked.unready", WEB, null);
    world.receive("done.write", donePod("asked.unready", { resourceVersion: "77" }), ask);
    expect(eventsWith(world, "NodeNotReady")).toMatchObject([
      { type: "Warning", message: "Node is not ready", involvedObject: { ...webObject, resourceVersion: "77" } },
    ]);
  });

  test("R3.2: a pod that was not Ready anyway gets none", () => {
    const world = ledgerWorld();
    world.receive("done.write", donePod("asked.unready", { change: "" }), world.receive("asked.unready", WEB, null));
    expect(world.kube.events).toEqual([]);
  });
});

describe("TaintManagerEviction", () => {
  const order = (world: LedgerWorld, outcome: BodyOf<"done.write">["outcome"]) =>
    world.receive(
      "done.write",
      donePod("asked.eviction", { outcome }),
      world.receive("asked.eviction", askedEviction(), null),
    );

  test("R8.25: marks a pod for deletion under its real uid", () => {
    const world = ledgerWorld();
    order(world, "ok");
    expect(world.kube.events).toMatchObject([
      {
        metadata: { namespace: "default" },
        type: "Normal",
        reason: "TaintManagerEviction",
        message: "Marking for deletion Pod default/web",
        source: { component: "taint-eviction-controller" },
        involvedObject: webObject,
      },
    ]);
  });

  test.each([
    [20, "taint-controller"],
    [28, "taint-controller"],
    [29, "taint-eviction-controller"],
    [null, "taint-eviction-controller"],
  ])("D5: of minor version %s has the source %s", (minor, component) => {
    const world = ledgerWorld();
    world.kube.minor = minor;
    order(world, "ok");
    world.clock.advance(1);
    expect(world.kube.events).toMatchObject([{ source: { component }, reportingComponent: component }]);
  });

  test("L31: is written once, though the deletion is retried", () => {
    const world = ledgerWorld();
    order(world, "denied");
    order(world, "denied");
    order(world, "ok");
    expect(world.kube.events).toHaveLength(1);
  });

  test.each(["refused", "gone", "shadowed", "denied", "throttled", "conflict", "failed", "unknown"] as const)(
    "is not written for a deletion with outcome %s",
    (outcome) => {
      const world = ledgerWorld();
      order(world, outcome);
      expect(world.kube.events).toEqual([]);
    },
  );

  test("is not written for a request alone", () => {
    const world = ledgerWorld();
    world.receive("asked.eviction", askedEviction(), null);
    expect(world.kube.events).toEqual([]);
  });

  test("cancels a countdown that ends without deletion", () => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod(), null);
    world.receive("judged.pod", judgedPod({ eviction: "none", deadlineAt: null }), null);
    expect(world.kube.events).toMatchObject([
      { reason: "TaintManagerEviction", message: "Cancelling deletion of Pod default/web", involvedObject: webObject },
    ]);
  });

  test("cancels nothing where no countdown ran", () => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod({ eviction: "none" }), null);
    world.receive("judged.pod", judgedPod({ eviction: "due" }), null);
    world.receive("judged.pod", judgedPod({ eviction: "none" }), null);
    expect(world.kube.events).toEqual([]);
  });

  test("L28: cancels nothing once the deletion is under way", () => {
    const world = ledgerWorld();
    world.receive("judged.pod", judgedPod(), null);
    order(world, "ok");
    world.receive("judged.pod", judgedPod({ eviction: "none" }), null);
    expect(world.kube.events.map(({ message }) => message)).toEqual(["Marking for deletion Pod default/web"]);
  });
});

describe("direct mode", () => {
  const drain = (world: LedgerWorld, name: string) => {
    const pod = { name, uid: `uid-${name}` };
    const ask = world.receive("asked.eviction", askedEviction({ ...pod, mode: "direct", taint: null }), null);
    world.receive("done.write", donePod("asked.eviction", pod), ask);
  };

  test("R5.15, R5.16: the node gets one Event, and every pod its own", () => {
    const world = ledgerWorld({ profile: { evictionMode: "direct" } });
    world.receive("observed.node", observedNode("n-1"), null);
    drain(world, "web");
    drain(world, "db");
    expect(world.kube.events.slice(1)).toMatchObject([
      {
        reason: "DeletingAllPods",
        message: "Node n-1 event: Deleting all Pods from Node n-1.",
        involvedObject: { kind: "Node", uid: "uid-n-1" },
      },
      {
        reason: "NodeControllerEviction",
        message: "Marking for deletion Pod web from Node n-1",
        source: { component: "node-controller" },
        involvedObject: webObject,
      },
      { reason: "NodeControllerEviction", message: "Marking for deletion Pod db from Node n-1" },
    ]);
  });

  test("a drain has no Event while every deletion is denied", () => {
    const world = ledgerWorld({ profile: { evictionMode: "direct" } });
    world.receive("observed.node", observedNode("n-1"), null);
    const ask = world.receive("asked.eviction", askedEviction({ mode: "direct", taint: null }), null);
    world.receive("done.write", donePod("asked.eviction", { outcome: "denied" }), ask);
    expect(world.kube.events.slice(1)).toEqual([]);
  });

  test("L40: later pods on a drained node add no second Event about the node", () => {
    const world = ledgerWorld({ profile: { evictionMode: "direct" } });
    world.receive("observed.node", observedNode("n-1"), null);
    drain(world, "web");
    world.receive("judged.node", judgedNode("n-1", { eviction: "evicted" }), null);
    drain(world, "late");
    expect(eventsWith(world, "DeletingAllPods")).toHaveLength(1);
    world.receive("judged.node", judgedNode("n-1"), null);
    drain(world, "next-time");
    expect(world.kube.requests.filter(({ verb }) => verb === "patch")).toHaveLength(1);
  });
});

test("a ledger that does not own a shard writes no Event, but keeps its state", () => {
  const world = ledgerWorld({ fleet: { member: "m-0", owns: () => false, follow: () => () => {} } });
  world.receive("observed.node", observedNode("n-1"), null);
  expect(world.kube.events).toEqual([]);
  expect(world.ledger.reader.explainNode("n-1")).not.toBeNull();
});
