/** One tainted node: its sentences follow its taints and pods, whatever comes in whatever order. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { BodyOf, MessageType } from "../../protocols/messages.ts";
import type { ObservedPod, Taint, Toleration } from "../../protocols/objects.ts";
import type { Bus } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { evictionOf } from "../../services/domain/toleration.ts";
import { Deadlines } from "../../services/platform/structures/deadlines.ts";
import { type EvictionSchedule, TaintedNode } from "../../services/taint-manager/tainted-node.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { NOT_SEEN_BEFORE, noExecute, observedNode, observedPod } from "../support/observed-objects.ts";

const S = 1000;

/** A tainted node with a bus that remembers what was said, and deadlines that carry out what is due. */
function setUp(name = "a") {
  const clock = new VirtualClock();
  const said: { type: MessageType; body: unknown; atMs: number }[] = [];
  const publish: Bus["publish"] = (type, body) => `${said.push({ type, body, atMs: clock.monotonicMs() })}`;
  const deadlines = new Deadlines<EvictionSchedule>({
    clock,
    fire: (sentence) => sentence.node.requestEviction(sentence),
  });
  const io = { clock, profile: STANDARD_PROFILE, bus: { publish } };
  const node = new TaintedNode({ io, deadlines }, observedNode(name));
  const review = (taints: Taint[], pods: ObservedPod[]) =>
    node.review(observedNode(name, { taints }), pods, NOT_SEEN_BEFORE, "cause");
  const bodies = <T extends MessageType>(type: T) =>
    said.flatMap((each) => (each.type === type ? [{ body: each.body as BodyOf<T>, atMs: each.atMs }] : []));
  const sentences = () => bodies("judged.pod").map(({ body }) => body.eviction);
  const asked = () => bodies("asked.eviction").map(({ body, atMs }) => ({ uid: body.uid, atMs }));
  return { clock, node, review, sentences, asked, deadlines };
}

const tolerating = (seconds: number): Toleration[] => [{ key: "k", operator: "Exists", tolerationSeconds: seconds }];
const at = (clock: VirtualClock, ms: number) => noExecute("k", { timeAdded: apiTime(clock.wallMs() + ms) });

test("a pod that moves away takes its sentence along: here it is lifted, there it counts by what stands there", () => {
  const here = setUp("here");
  const there = setUp("there");
  const pod = observedPod("p", { tolerations: tolerating(60) });
  here.review([at(here.clock, 0)], [pod]);
  here.review([at(here.clock, 0)], []);
  there.review([at(there.clock, -30 * S)], [pod]);
  expect(here.sentences()).toEqual(["pending", "none"]);
  expect(here.deadlines.size).toBe(0);
  for (const { clock } of [here, there]) clock.advance(30 * S);
  expect(here.asked()).toEqual([]);
  expect(there.asked()).toHaveLength(1);
});

test("an eviction is asked for again with growing pauses until the pod is on its way out, and then no more", () => {
  const { clock, review, asked, sentences, deadlines } = setUp();
  const pod = observedPod("p");
  review([at(clock, 0)], [pod]);
  clock.advance(29 * S);
  expect(asked()).toHaveLength(5);
  expect(sentences()).toEqual(["due"]);
  review([at(clock, 0)], [{ ...pod, deletionAt: 1 }]);
  clock.advance(600 * S);
  expect(asked()).toHaveLength(5);
  expect(sentences()).toEqual(["due"]);
  expect(deadlines.size).toBe(0);
});

test("an eviction refused until the taint is gone is told as cancelled; one a writer has settled is not (L28)", () => {
  const refused = setUp();
  refused.review([at(refused.clock, 0)], [observedPod("p")]);
  refused.clock.advance(5 * S);
  refused.node.end("cause");
  expect(refused.sentences()).toEqual(["due", "none"]);
  const settled = setUp();
  settled.review([at(settled.clock, 0)], [observedPod("p")]);
  settled.clock.advance(5 * S);
  settled.node.settle("uid-p");
  settled.node.end("cause");
  expect(settled.sentences()).toEqual(["due"]);
});

test("a countdown is announced once, however often its taint is stamped again", () => {
  const { clock, review, asked, sentences } = setUp();
  const pod = observedPod("p", { tolerations: tolerating(60) });
  for (let second = 0; second < 60; second += 3) {
    review([at(clock, 0)], [pod]);
    clock.advance(3 * S);
  }
  expect(sentences()).toEqual(["pending", "due"]);
  expect(asked()).toMatchObject([{ atMs: 60 * S }]);
});

const taint = fc.record({ key: fc.constantFrom("k1", "k2"), addedS: fc.integer({ min: -100, max: 5 }) });
const toleration = fc.record(
  {
    key: fc.constantFrom("k1", "k2"),
    operator: fc.constant("Exists"),
    tolerationSeconds: fc.integer({ min: 1, max: 500 }),
  },
  { requiredKeys: ["key", "operator"] },
);
const pod = fc.record({ name: fc.constantFrom("p", "q"), tolerations: fc.array(toleration, { maxLength: 3 }) });
const step = fc.record({
  taints: fc.uniqueArray(taint, { selector: ({ key }) => key, minLength: 1 }),
  pods: fc.uniqueArray(pod, { selector: ({ name }) => name }),
  pauseMs: fc.integer({ min: 0, max: 20 * S }),
  again: fc.boolean(),
});

test("after any history each pod is asked for at the instant its last taints and tolerations say, and no other pod ever (P7–P10)", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
      const { clock, review, asked, deadlines } = setUp();
      const zeroMs = clock.wallMs();
      const due = new Map<string, number>();
      let since = new Map<string, number>();
      for (const { taints, pods, pauseMs, again } of steps) {
        clock.advance(pauseMs);
        const standing = taints.map(({ key, addedS }) => noExecute(key, { timeAdded: apiTime(zeroMs + addedS * S) }));
        const observed = pods.map(({ name, tolerations }) => observedPod(name, { tolerations }));
        review(standing, observed);
        if (again) review(structuredClone(standing), structuredClone(observed));
        due.clear();
        // What stands keeps its beginning; a new taint's stamp is believed unless it is ahead of its first sight.
        const nowMs = clock.monotonicMs();
        const startOf = (addedMs: number) => (addedMs > nowMs + S ? nowMs : addedMs);
        since = new Map(taints.map(({ key, addedS }) => [key, since.get(key) ?? startOf(addedS * S)]));
        const model = standing.map((each) => ({ taint: each, since: since.get(each.key) ?? 0 }));
        for (const { uid, tolerations } of observed) {
          const eviction = evictionOf(model, tolerations, -zeroMs, { comparisonOperators: false });
          if (eviction !== null) due.set(uid, eviction.at);
        }
      }
      expect(deadlines.size).toBe(due.size);
      const nowMs = clock.monotonicMs();
      const before = asked().length;
      clock.advance(1000 * S);
      const first = new Map(
        asked()
          .slice(before)
          .reverse()
          .map(({ uid, atMs }) => [uid, atMs]),
      );
      expect([...first.keys()].sort()).toEqual([...due.keys()].sort());
      for (const [uid, atMs] of due) {
        if (atMs > nowMs) expect(first.get(uid)).toBe(atMs);
        else expect(first.get(uid)).toBeLessThanOrEqual(nowMs + STANDARD_PROFILE.askRetryMaxMs);
      }
    }),
  );
});

test("what was held back while nothing could be seen is not carried out when its deadline has moved meanwhile", () => {
  const { clock, node, review, asked, deadlines } = setUp("a");
  const held: EvictionSchedule[] = [];
  const carryOut = node.requestEviction.bind(node);
  node.requestEviction = (sentence) => void held.push(sentence);
  const pod = observedPod("p", { tolerations: tolerating(60) });
  review([noExecute("intolerable")], [pod]);
  clock.advance(10 * S);
  review([at(clock, 0)], [pod]);
  for (const sentence of held) carryOut(sentence);
  expect(held).toHaveLength(1);
  expect(asked()).toEqual([]);
  node.requestEviction = carryOut;
  clock.advance(61 * S);
  expect(asked()).toHaveLength(1);
  expect(deadlines.size).toBe(1);
});

test("a pod that came after a swap while our clocks stood still gets the whole time of the present taint", () => {
  const [first, second] = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"] as const;
  const { clock, node, sentences, asked } = setUp();
  const swapAt = clock.wallMs();
  const taintSwap = { at: swapAt, firstKey: first, firstAt: swapAt - 20 * S, secondAt: swapAt };
  const tainted = observedNode("a", { taints: [noExecute(second, { timeAdded: apiTime(swapAt) })], taintSwap });
  node.review(tainted, [], NOT_SEEN_BEFORE, "cause");
  clock.stepWall(80 * S);
  const tolerations = [first, second].map((key, index) => ({
    key,
    operator: "Exists",
    tolerationSeconds: [20, 300][index],
  }));
  node.review(tainted, [observedPod("p", { tolerations, boundAt: swapAt + 30 * S })], NOT_SEEN_BEFORE, "cause");
  clock.advance(200 * S);
  expect(sentences()).toEqual(["pending"]);
  expect(asked()).toEqual([]);
});
