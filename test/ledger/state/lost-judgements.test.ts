/** Judgements and outcomes that were lost: a ledger notices the gap, requests them again and doubts what it knows. */
import { describe, expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../../protocols/digest.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Bus } from "../../../protocols/ports.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { cuttableTransport } from "../../support/cuttable-transport.ts";
import { metricValue } from "../../support/metric-value.ts";
import { observedNode, observedPod } from "../../support/observed-objects.ts";
import {
  askedEviction,
  donePod,
  judgedNode,
  judgedPod,
  type LedgerWorld,
  ledgerWorld,
  pulse,
  UNREACHABLE,
} from "../ledger-world.ts";

const SHARD = shardOf("n-1");
const TAINTED = observedNode("n-1", { ready: "Unknown", taints: [UNREACHABLE] });
const DOWN = judgedNode("n-1", { zone: "", readiness: "unknown", ready: "Unknown", eviction: "evicted" });
const PENDING = judgedPod({ deadlineAt: Date.UTC(2026, 0, 1) + 300_000 });
const NO_PODS: BodyOf<"observed.pods"> = { node: "n-1", version: "1", chunk: 0, chunks: 1, pods: [] };

/** A publisher whose messages are lost between `lose` and its return. */
interface Publisher extends Pick<Bus, "publish"> {
  lose(publish: (bus: Pick<Bus, "publish">) => void): void;
}

function publisherOf({ io, transport, clock }: LedgerWorld, service: string): Publisher {
  const link = cuttableTransport(transport);
  const { log, metrics } = io;
  const names = { cluster: "test", member: "m-1", service, mailboxMessagesMax: 100 };
  const bus = typedBus({ ...names, transport: link, clock, log, metrics });
  const publish: Bus["publish"] = (type, body, cause) => {
    const id = bus.publish(type, body, cause);
    clock.advance(0);
    return id;
  };
  return {
    publish,
    lose: (losing) => {
      link.sends = false;
      losing({ publish });
      link.sends = true;
    },
  };
}

/** A ledger that has a whole view of a shard whose node is down. */
function synced(evictionMode: "taint" | "direct" = "taint", node: ObservedNode = TAINTED) {
  const world = ledgerWorld({ profile: { evictionMode } });
  const reasons: string[] = [];
  const { io, transport, clock } = world;
  const names = { cluster: "test", member: "m-1", service: "observer", mailboxMessagesMax: 100 };
  const bus = typedBus({ ...names, transport, clock, log: io.log, metrics: io.metrics });
  bus.subscribe("asked.resync", SHARD, ({ body }) => reasons.push(body.reason));
  const nodes = digestWith(EMPTY_DIGEST, "n-1", nodeVersion(node));
  const pulses = (seconds: number): void => {
    for (let second = 0; second < seconds; second++) {
      world.receive("observed.pulse", pulse(SHARD, { nodes }), null);
      clock.advance(1000);
    }
  };
  world.receive("observed.node", node, null);
  world.receive("judged.node", DOWN, null);
  world.receive("observed.pulse", pulse(SHARD, { nodes }), "ask");
  pulses(5);
  // Of a node that was tainted before it was known here.
  expect(reasons.splice(0)).toEqual(evictionMode === "direct" ? [] : [expect.stringContaining("older than this")]);
  return { world, reasons, pulses, nodes };
}

const waiting = ({ ledger }: LedgerWorld) => ledger.reader.pendingEvictions(10).map(({ name }) => name);

describe("a gap", () => {
  test.each([
    ["node", (bus: Pick<Bus, "publish">) => bus.publish("judged.node", DOWN, null)],
    ["taint-manager", (bus: Pick<Bus, "publish">) => bus.publish("judged.pod", PENDING, null)],
  ])("of the judgements of the service %s leads to a resync", (service, publish) => {
    const { world, reasons, pulses, nodes } = synced();
    const publisher = publisherOf(world, service);
    publish(publisher);
    publisher.lose(publish);
    pulses(2);
    expect(reasons).toEqual([]);
    publish(publisher);
    pulses(2);
    expect(reasons).toContain("judgements may be missing");
    world.receive("observed.pulse", pulse(SHARD, { nodes }), "ask");
    world.receive("observed.pods", { ...NO_PODS, pods: [observedPod("web")] }, null);
    const before = reasons.length;
    pulses(10);
    expect(reasons.length).toBe(before);
  });

  test("of outcomes leads to none while no pod is pending", () => {
    const { world, reasons, pulses } = synced();
    const publisher = publisherOf(world, "node-writer");
    const done = donePod("asked.eviction");
    publisher.publish("done.write", done, "p");
    publisher.lose(({ publish }) => publish("done.write", done, "p"));
    publisher.publish("done.write", done, "p");
    pulses(5);
    expect(reasons).toEqual([]);
  });
});

describe("pulses that stopped", () => {
  test("lead to a resync, once they are back", () => {
    const { world, reasons, pulses } = synced();
    world.clock.advance(2_000);
    pulses(1);
    expect(reasons).toEqual([]);
    world.clock.advance(6_000);
    pulses(1);
    expect(reasons).toEqual(["judgements may be missing"]);
  });
});

describe("a pod pending at a loss", () => {
  const lost = (evictionMode: "taint" | "direct" = "taint", node?: ObservedNode) => {
    const { world, pulses } = synced(evictionMode, node);
    const deadlineAt = world.clock.wallMs() + 60_000;
    if (evictionMode === "taint") world.receive("judged.pod", judgedPod({ deadlineAt }), null);
    else world.receive("asked.eviction", askedEviction({ mode: "direct", taint: null, deadlineAt }), null);
    world.clock.advance(9_000);
    pulses(1);
    expect(waiting(world)).toEqual(["web"]);
    return world;
  };
  const modes = [["taint"], ["direct"]] as const;

  test.each(modes)("is gone if its node's pods are known without it, %s mode", (mode) => {
    const world = lost(mode);
    world.receive("observed.pods", NO_PODS, null);
    expect(waiting(world)).toEqual([]);
  });

  test.each(modes)("stays if they include it, %s mode", (mode) => {
    const world = lost(mode);
    world.receive("observed.pods", { ...NO_PODS, pods: [observedPod("web")] }, null);
    world.receive("observed.node", TAINTED, null);
    expect(waiting(world)).toEqual(["web"]);
  });

  test("stays on a node without taints in direct mode", () => {
    const world = lost("direct", observedNode("n-1", { ready: "Unknown" }));
    world.receive("observed.node", observedNode("n-1", { ready: "Unknown", resourceVersion: "2" }), null);
    expect(waiting(world)).toEqual(["web"]);
  });

  test("has observed.pods received until it is confirmed", async () => {
    const world = lost();
    const received = () => {
      world.receive("observed.pods", { ...NO_PODS, pods: [observedPod("web")] }, null);
      return metricValue(world.metrics, "vigil_bus_received_total", { service: "ledger", type: "observed.pods" });
    };
    expect(await received()).toBe(1);
    const nodes = digestWith(EMPTY_DIGEST, "n-1", nodeVersion(TAINTED));
    world.receive("observed.pulse", pulse(SHARD, { nodes }), "ask");
    world.receive("observed.pulse", pulse(SHARD, { nodes }), null);
    expect(await received()).toBe(1);
  });

  test("is pending as judged since", () => {
    const world = lost();
    const deadlineAt = world.clock.wallMs() + 90_000;
    world.receive("judged.pod", judgedPod({ deadlineAt }), null);
    world.receive("observed.pods", NO_PODS, null);
    expect(world.ledger.reader.pendingEvictions(10)).toMatchObject([{ name: "web", deadlineAt }]);
  });
});
