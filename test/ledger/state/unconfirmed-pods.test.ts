/** The pods that were pending when an earlier ledger ended: which stay pending in a new ledger. */
import { describe, expect, test } from "vitest";
import { digestWith, EMPTY_DIGEST, nodeVersion } from "../../../protocols/digest.ts";
import type { BodyOf } from "../../../protocols/messages.ts";
import type { ObservedPod } from "../../../protocols/objects.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { observedNode, observedPod } from "../../support/observed-objects.ts";
import {
  donePod,
  judgedPod,
  type LedgerWorld,
  ledgerWorld,
  podSentences,
  pulse,
  remembering,
  SHARDS,
  UNREACHABLE,
} from "../ledger-world.ts";

const DEADLINE_AT = Date.UTC(2026, 0, 1) + 300_000;

const waiting = ({ ledger }: LedgerWorld) => ledger.reader.pendingEvictions(10);

describe("a restored pod", () => {
  const recalled = () => ledgerWorld({ store: remembering(["judged.pod", judgedPod({ deadlineAt: DEADLINE_AT })]) });

  test("stays pending while its node is tainted", () => {
    const world = recalled();
    world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    expect(waiting(world)).toHaveLength(1);
  });

  test("is not pending when its node has no taint any more", () => {
    const world = recalled();
    expect(waiting(world)).toHaveLength(1);
    world.receive("observed.node", observedNode("n-1"), null);
    expect(waiting(world)).toEqual([]);
    expect(podSentences(world)[0]).toBe("Pod default/web stays: its node n-1 carries no NoExecute taint.");
  });

  test("is not pending where its eviction was cancelled since", () => {
    const store = remembering();
    const world = ledgerWorld({ store });
    world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    store.remember("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }));
    expect(waiting(world)).toHaveLength(1);
    store.remember("judged.pod", judgedPod({ eviction: "none", deadlineAt: null, taint: null }));
    expect(waiting(world)).toEqual([]);
  });

  test("is not pending when its node was deleted", () => {
    const world = recalled();
    world.receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    expect(waiting(world)).toEqual([]);
  });

  test("stays pending by a message after a shadowed deletion", () => {
    const store = remembering();
    const world = ledgerWorld({ store });
    world.clock.advance(1000);
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }), null);
    store.remember("done.write", donePod("asked.eviction", { outcome: "shadowed" }));
    expect(waiting(world)).toHaveLength(1);
    expect(podSentences(world)[0]).toMatch(/^Pod default\/web is due to be deleted at 2026-01-01T00:05:00Z, /);
  });

  test("is not restored when its node is known to have no taint", () => {
    const store = remembering();
    const world = ledgerWorld({ store });
    world.receive("observed.node", observedNode("n-1"), null);
    store.remember("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }));
    expect(waiting(world)).toEqual([]);
  });

  test("is not pending once it is known that its node does not exist", () => {
    const world = recalled();
    for (const shard of SHARDS) world.receive("observed.pulse", pulse(shard), "ask");
    expect(waiting(world)).toEqual([]);
  });

  test("is not pending once its node's pods are known without it", () => {
    const world = recalled();
    world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    world.receive("observed.pods", podsOf([observedPod("other")]), null);
    expect(waiting(world)).toEqual([]);
    world.kube.pods.clear();
    expect(podSentences(world)).toEqual(["Pod default/web no longer exists."]);
  });

  test("is not pending when it is terminating", () => {
    const world = recalled();
    world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    world.receive("observed.pods", podsOf([observedPod("web", { deletionAt: 1 })]), null);
    expect(waiting(world)).toEqual([]);
  });

  test("stays pending when its node's pods include it", () => {
    const world = recalled();
    world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    world.receive("observed.pods", podsOf([observedPod("web")]), null);
    expect(waiting(world)).toHaveLength(1);
  });

  test("stays pending while only a part of its node's pods is known", () => {
    const world = recalled();
    world.receive("observed.pods", { ...podsOf([observedPod("other")]), chunks: 2 }, null);
    expect(waiting(world)).toHaveLength(1);
    world.receive("observed.pods", { ...podsOf([]), chunk: 1, chunks: 2 }, null);
    expect(waiting(world)).toEqual([]);
  });

  test("is pending as judged since, not as restored later", () => {
    const store = remembering();
    const world = ledgerWorld({ store });
    store.remember("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }));
    world.receive("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT + 1 }), null);
    store.remember("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }));
    expect(waiting(world)).toMatchObject([{ deadlineAt: DEADLINE_AT + 1 }]);
  });

  test("causes resync requests until it is confirmed", () => {
    const store = remembering();
    const world = ledgerWorld({ store });
    world.receive("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    const shard = shardOf("n-1");
    const nodes = digestWith(EMPTY_DIGEST, "n-1", nodeVersion({ uid: "uid-n-1", resourceVersion: "1" }));
    const asks = resyncsAsked(world, shard, "pending pods are not confirmed");
    world.receive("observed.pulse", pulse(shard, { nodes }), "ask");
    world.receive("observed.pulse", pulse(shard, { nodes }), null);
    expect(asks).toHaveLength(0);
    store.remember("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }));
    world.receive("observed.pulse", pulse(shard, { nodes }), null);
    expect(asks).toHaveLength(1);
    world.receive("observed.pods", podsOf([]), null);
    world.clock.advance(60_000);
    world.receive("observed.pulse", pulse(shard, { nodes }), null);
    expect(asks).toHaveLength(1);
    expect(waiting(world)).toEqual([]);
  });
});

/** All pods of node `n-1`, in one message. */
function podsOf(pods: ObservedPod[]): BodyOf<"observed.pods"> {
  return { node: "n-1", version: "1", chunk: 0, chunks: 1, pods };
}

/** The resync requests for a shard with this reason from now on. */
function resyncsAsked({ transport, io }: LedgerWorld, shard: number, reason: string): string[] {
  const reasons: string[] = [];
  const { clock, log, metrics } = io;
  const names = { cluster: "test", member: "m-0", service: "observer", mailboxMessagesMax: 100 };
  const bus = typedBus({ ...names, transport, clock, log, metrics });
  bus.subscribe("asked.resync", shard, ({ body }) => {
    if (body.reason === reason) reasons.push(body.reason);
  });
  return reasons;
}
