/** The pods that waited when an earlier ledger ended: which of them a new one lets wait on, and which it forgets. */
import { describe, expect, test } from "vitest";
import { observedNode } from "../support/observed-objects.ts";
import {
  donePod,
  judgedPod,
  type LedgerWorld,
  ledgerWorld,
  pulse,
  remembering,
  SHARDS,
  UNREACHABLE,
} from "./ledger-world.ts";

const DEADLINE_AT = Date.UTC(2026, 0, 1) + 300_000;

const podSentences = ({ ledger }: LedgerWorld) => ledger.reader.explainPod("default", "web")?.sentences ?? [];
const waiting = ({ ledger }: LedgerWorld) => ledger.reader.pendingEvictions(10);

describe("a pod that waited when an earlier ledger ended", () => {
  const recalled = () => ledgerWorld({ store: remembering(["judged.pod", judgedPod({ deadlineAt: DEADLINE_AT })]) });

  test("waits on while its node is tainted", () => {
    const world = recalled();
    world.tell("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    expect(waiting(world)).toHaveLength(1);
  });

  test("is asked to go by nothing when its node is well again", () => {
    const world = recalled();
    expect(waiting(world)).toHaveLength(1);
    world.tell("observed.node", observedNode("n-1"), null);
    expect(waiting(world)).toEqual([]);
    expect(podSentences(world)).toEqual(["Nothing asks pod default/web to go."]);
  });

  test("and was lifted since is recalled as such, though its node is tainted", () => {
    const store = remembering();
    const world = ledgerWorld({ store });
    world.tell("observed.node", observedNode("n-1", { taints: [UNREACHABLE] }), null);
    store.remember("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }));
    expect(waiting(world)).toHaveLength(1);
    store.remember("judged.pod", judgedPod({ sentence: "none", deadlineAt: null, taint: null }));
    expect(waiting(world)).toEqual([]);
  });

  test("is asked to go by nothing when its node has left", () => {
    const world = recalled();
    world.tell("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    expect(waiting(world)).toEqual([]);
  });

  test("waits on for what was heard since, though an earlier try to delete it was only rehearsed", () => {
    const store = remembering();
    const world = ledgerWorld({ store });
    world.clock.advance(1000);
    world.tell("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }), null);
    store.remember("done.write", donePod("asked.eviction", { outcome: "shadowed" }));
    expect(waiting(world)).toHaveLength(1);
    expect(podSentences(world)[0]).toMatch(/^Pod default\/web is to be deleted at 2026-01-01T00:05:00Z, /);
  });

  test("is not recalled when its node is known to be well", () => {
    const store = remembering();
    const world = ledgerWorld({ store });
    world.tell("observed.node", observedNode("n-1"), null);
    store.remember("judged.pod", judgedPod({ deadlineAt: DEADLINE_AT }));
    expect(waiting(world)).toEqual([]);
  });

  test("waits no more where its node left while nobody listened, once it is known which nodes there are", () => {
    const world = recalled();
    for (const shard of SHARDS) world.tell("observed.pulse", pulse(shard), "ask");
    expect(waiting(world)).toEqual([]);
  });
});
