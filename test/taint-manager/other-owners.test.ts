/** Two taint-managers that both take themselves for the owner of a shard: what stands once the wrong one has ended. */
import { describe, expect, test } from "vitest";
import type { BodyOf } from "../../protocols/messages.ts";
import { Annotation } from "../../protocols/names.ts";
import type { Toleration } from "../../protocols/objects.ts";
import { apiMicroTime } from "../../services/domain/api-time.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
/** Until a member without a pulse is gone, and one pulse more. */
const ENDED_MS = 4 * S;
const MAINTENANCE = { key: "maintenance", effect: "NoExecute" };
const tolerating: Toleration[] = [
  { key: "maintenance", operator: "Exists", effect: "NoExecute", tolerationSeconds: 600 },
];

/** A pod whose countdown runs if its node is tainted, and another owner that judges it. */
function withOtherOwner({ isTainted = true, isFrozen = false } = {}) {
  const frozen = { name: "all", spec: { selector: {}, mode: "Freeze" as const } };
  const world = new EvictionWorld({}, isFrozen ? [frozen] : null);
  world.addZone("a", 3);
  world.addTolerantPod("a-0", "pod", tolerating);
  world.run();
  world.advance(10 * S);
  if (isTainted) world.taint("a-0", [MAINTENANCE]);
  world.advance(10 * S);
  const uid = world.read({ kind: "Pod", namespace: "default", name: "pod" })?.metadata.uid ?? "";
  const target = { namespace: "default", name: "pod", uid, node: "a-0" };
  const decided = { taint: MAINTENANCE, tolerationSeconds: 60, deadlineAt: world.clock.wallMs() + 30 * S };
  const other = world.busOf("taint-manager", "other");
  const judge = (fields: Partial<BodyOf<"judged.pod">>): void => {
    other.publish("judged.pod", { ...target, eviction: "pending", ...decided, ...fields }, null);
  };
  return {
    world,
    judge,
    judgements: () => world.published("judged.pod").map(({ source, body }) => ({ source, body })),
  };
}

describe("a judgement of another owner", () => {
  test.each<[string, Partial<BodyOf<"judged.pod">>]>([
    ["with another deadline", {}],
    ["that the pod must go now", { eviction: "due" }],
    ["that the pod may stay", { eviction: "none", deadlineAt: null, taint: null, tolerationSeconds: null }],
  ])("%s is corrected once it has had time to end", (_what, wrong) => {
    const { world, judge, judgements } = withOtherOwner();
    const own = judgements().at(-1);
    expect(own).toMatchObject({ source: "taint-manager@vigil", body: { eviction: "pending" } });
    judge(wrong);
    world.advance(ENDED_MS - 1);
    expect(judgements().at(-1)?.source).toBe("taint-manager@other");
    world.advance(1);
    expect(judgements().at(-1)).toEqual(own);
  });

  test("of a pod that is frozen without an end is corrected", () => {
    const { world, judge, judgements } = withOtherOwner({ isFrozen: true });
    const own = judgements().at(-1);
    expect(own).toMatchObject({ body: { eviction: "pending", deadlineAt: null } });
    judge({ eviction: "due" });
    world.advance(ENDED_MS);
    expect(judgements().at(-1)).toEqual(own);
  });

  test("about a pod that may stay is taken back", () => {
    const { world, judge, judgements } = withOtherOwner({ isTainted: false });
    judge({});
    world.advance(ENDED_MS);
    const stays = { eviction: "none", deadlineAt: null, taint: null };
    expect(judgements().at(-1)).toMatchObject({ source: "taint-manager@vigil", body: { name: "pod", ...stays } });
  });

  test.each<[string, Partial<BodyOf<"judged.pod">>]>([
    ["that is right", { deadlineAt: Date.parse("2026-01-01T00:10:10Z"), tolerationSeconds: 600 }],
    ["about an unknown pod", { name: "other", uid: "other" }],
  ])("%s is not answered", (_what, fields) => {
    const { world, judge, judgements } = withOtherOwner();
    judge(fields);
    world.advance(2 * ENDED_MS);
    expect(judgements().at(-1)?.source).toBe("taint-manager@other");
  });

  test("that is repeated is corrected all the same", () => {
    const { world, judge, judgements } = withOtherOwner();
    for (let second = 0; second < ENDED_MS / S; second++) {
      judge({});
      world.advance(S);
    }
    expect(judgements().at(-1)?.source).toBe("taint-manager@vigil");
  });

  test("of a pod that is being deleted is left alone", () => {
    const { world, judge, judgements } = withOtherOwner();
    world.write({ verb: "delete", ref: { kind: "Pod", namespace: "default", name: "pod" }, urgency: 0 });
    world.advance(S);
    judge({ eviction: "due" });
    world.advance(2 * ENDED_MS);
    expect(judgements().at(-1)?.source).toBe("taint-manager@other");
  });
});

test("another owner that overwrites each record of a start is answered with a pause", () => {
  const { world } = withOtherOwner();
  const node = { kind: "Node", namespace: "", name: "a-0" } as const;
  const othersText = JSON.stringify({ "maintenance:NoExecute": apiMicroTime(world.clock.wallMs() - 30 * S) });
  const written = () => world.published("done.write").filter(({ body }) => body.ask === "asked.label").length;
  let answered = written();
  expect(answered).toBe(1);
  for (let passedMs = 0; passedMs < 10 * S; passedMs += 100) {
    world.advance(100);
    if (passedMs > 0 && written() === answered) continue;
    answered = written();
    world.patch(node, { metadata: { annotations: { [Annotation.taintsSeen]: othersText } } });
  }
  expect(answered).toBeGreaterThan(1);
  expect(answered).toBeLessThanOrEqual(5);
});
