/** One tainted node: its eviction schedules follow its taints and pods, in any order of events. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BodyOf, MessageType } from "../../protocols/messages.ts";
import type { ObservedPod, Taint, Toleration } from "../../protocols/objects.ts";
import type { Bus } from "../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { apiTime } from "../../services/domain/api-time.ts";
import { evictionOf } from "../../services/domain/toleration.ts";
import { Deadlines } from "../../services/structures/deadlines.ts";
import { type EvictionSchedule, TaintedNode } from "../../services/taint-manager/tainted-node.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { NOT_SEEN_BEFORE, noExecute, observedNode, observedPod } from "../support/observed-objects.ts";

const S = 1000;

/** A clock of a process that is interrupted after each time it reads a clock. */
class InterruptedClock extends VirtualClock {
  #interruptionMs = 0;

  interruptEachReadFor(ms: number): void {
    this.#interruptionMs = ms;
  }

  override monotonicMs(): number {
    return this.#interrupted(super.monotonicMs());
  }

  override wallMs(): number {
    return this.#interrupted(super.wallMs());
  }

  #interrupted(readMs: number): number {
    const ms = this.#interruptionMs;
    this.#interruptionMs = 0;
    if (ms > 0) this.advance(ms);
    this.#interruptionMs = ms;
    return readMs;
  }
}

/** A tainted node with a bus that keeps what is published, and deadlines that request evictions when due. */
function setUp(name = "a", clock = new VirtualClock()) {
  const published: { type: MessageType; body: unknown; atMs: number }[] = [];
  const publish: Bus["publish"] = (type, body) => `${published.push({ type, body, atMs: clock.monotonicMs() })}`;
  const deadlines = new Deadlines<EvictionSchedule>({
    clock,
    fire: (schedule) => schedule.node.requestEviction(schedule),
  });
  const io = { clock, profile: STANDARD_PROFILE, bus: { publish } };
  const node = new TaintedNode({ io, deadlines }, observedNode(name));
  const review = (taints: Taint[], pods: ObservedPod[]) =>
    node.review(observedNode(name, { taints }), pods, NOT_SEEN_BEFORE, "cause");
  const bodies = <T extends MessageType>(type: T) =>
    published.flatMap((each) => (each.type === type ? [{ body: each.body as BodyOf<T>, atMs: each.atMs }] : []));
  const evictions = () => bodies("judged.pod").map(({ body }) => body.eviction);
  const judgements = () => bodies("judged.pod").map(({ body }) => body);
  const requests = () => bodies("asked.eviction").map(({ body, atMs }) => ({ uid: body.uid, atMs }));
  return { clock, node, review, evictions, judgements, requests, deadlines };
}

const tolerating = (seconds: number): Toleration[] => [{ key: "k", operator: "Exists", tolerationSeconds: seconds }];
const at = (clock: VirtualClock, ms: number) => noExecute("k", { timeAdded: apiTime(clock.wallMs() + ms) });

test("a pod that moves to another node gets a schedule by the taints there", () => {
  const here = setUp("here");
  const there = setUp("there");
  const pod = observedPod("p", { tolerations: tolerating(60) });
  here.review([at(here.clock, 0)], [pod]);
  here.review([at(here.clock, 0)], []);
  there.review([at(there.clock, -30 * S)], [pod]);
  expect(here.evictions()).toEqual(["pending", "none"]);
  expect(here.deadlines.size).toBe(0);
  for (const { clock } of [here, there]) clock.advance(30 * S);
  expect(here.requests()).toEqual([]);
  expect(there.requests()).toHaveLength(1);
});

test("an interruption between two reads of the clock makes no eviction early", () => {
  const clock = new InterruptedClock();
  const { review, requests } = setUp("a", clock);
  const dueMs = clock.monotonicMs() + 60 * S;
  const taint = at(clock, 0);
  clock.interruptEachReadFor(4);
  review([taint], [observedPod("p", { tolerations: tolerating(60) })]);
  clock.interruptEachReadFor(0);
  clock.advance(61 * S);
  expect(requests()).toHaveLength(1);
  expect(requests()[0]?.atMs).toBeGreaterThanOrEqual(dueMs);
});

test("an eviction is requested with backoff until the pod is terminating", () => {
  const { clock, review, requests, evictions, deadlines } = setUp();
  const pod = observedPod("p");
  review([at(clock, 0)], [pod]);
  clock.advance(29 * S);
  expect(requests()).toHaveLength(5);
  expect(evictions()).toEqual(["due"]);
  review([at(clock, 0)], [{ ...pod, deletionAt: 1 }]);
  clock.advance(600 * S);
  expect(requests()).toHaveLength(5);
  expect(evictions()).toEqual(["due"]);
  expect(deadlines.size).toBe(0);
});

test("the end of a taint cancels a refused eviction, not one that is done (L28)", () => {
  const refused = setUp();
  refused.review([at(refused.clock, 0)], [observedPod("p")]);
  refused.clock.advance(5 * S);
  refused.node.end("cause");
  expect(refused.evictions()).toEqual(["due", "none"]);
  const settled = setUp();
  settled.review([at(settled.clock, 0)], [observedPod("p")]);
  settled.clock.advance(5 * S);
  settled.node.settle("uid-p");
  settled.node.end("cause");
  expect(settled.evictions()).toEqual(["due"]);
});

test("a countdown is published once, however often its taint is restamped", () => {
  const { clock, review, requests, evictions } = setUp();
  const pod = observedPod("p", { tolerations: tolerating(60) });
  for (let second = 0; second < 60; second += 3) {
    review([at(clock, 0)], [pod]);
    clock.advance(3 * S);
  }
  expect(evictions()).toEqual(["pending", "due"]);
  expect(requests()).toMatchObject([{ atMs: 60 * S }]);
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

test("after any history a pod is evicted by its last taints and tolerations (P7–P10)", () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
      const { clock, review, requests, deadlines } = setUp();
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
        // A known taint keeps its start; a new taint's stamp counts unless it is ahead of the clock.
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
      const before = requests().length;
      clock.advance(1000 * S);
      const first = new Map(
        requests()
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

test("an eviction held back while blind is dropped if its deadline has moved", () => {
  const { clock, node, review, requests, deadlines } = setUp("a");
  const held: EvictionSchedule[] = [];
  const carryOut = node.requestEviction.bind(node);
  node.requestEviction = (schedule) => void held.push(schedule);
  const pod = observedPod("p", { tolerations: tolerating(60) });
  review([noExecute("intolerable")], [pod]);
  clock.advance(10 * S);
  review([at(clock, 0)], [pod]);
  for (const schedule of held) carryOut(schedule);
  expect(held).toHaveLength(1);
  expect(requests()).toEqual([]);
  node.requestEviction = carryOut;
  clock.advance(61 * S);
  expect(requests()).toHaveLength(1);
  expect(deadlines.size).toBe(1);
});

test("a deadline by a clock that was behind is judged again once it is right", () => {
  const { clock, review, judgements, requests } = setUp();
  const pods = [observedPod("p", { tolerations: tolerating(60) }), observedPod("going", { tolerations: [] })];
  const taints = [at(clock, 300 * S)];
  const behindAt = clock.wallMs();
  review(taints, pods);
  clock.advance(5 * S);
  clock.stepWall(300 * S);
  review(taints, pods);
  review(taints, pods);
  const pending = judgements().filter(({ eviction }) => eviction === "pending");
  expect(pending.map(({ deadlineAt }) => deadlineAt)).toEqual([behindAt + 60 * S, behindAt + 360 * S]);
  clock.advance(55 * S);
  expect(requests().map(({ uid, atMs }) => [uid, atMs])).toContainEqual([pods[0]?.uid, 60 * S]);
});

test("a pod bound after a swap in a standstill gets the present taint's full time", () => {
  const [first, second] = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"] as const;
  const { clock, node, evictions, requests } = setUp();
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
  expect(evictions()).toEqual(["pending"]);
  expect(requests()).toEqual([]);
});

describe("a pod bound in a swap is judged", () => {
  const [first, second] = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"] as const;
  const longer = { taint: { key: second, effect: "NoExecute" }, tolerationSeconds: 150 };

  /** The judgements of the pod, which tolerates the first and the second taint for each of these pairs of seconds. */
  function judgedWith(...pairs: readonly (readonly [number, number])[]) {
    const { clock, node, judgements } = setUp();
    const swapAt = clock.wallMs();
    const taintSwap = { at: swapAt, firstKey: first, firstAt: swapAt - 20 * S, secondAt: swapAt };
    const tainted = observedNode("a", { taints: [noExecute(second, { timeAdded: apiTime(swapAt) })], taintSwap });
    for (const seconds of pairs) {
      const tolerations = [first, second].map((key, index) => ({
        key,
        operator: "Exists",
        tolerationSeconds: seconds[index],
      }));
      node.review(tainted, [observedPod("p", { tolerations, boundAt: swapAt })], NOT_SEEN_BEFORE, "cause");
    }
    clock.advance(150 * S);
    return judgements();
  }

  test("with the replaced taint if that counts", () => {
    const [pending, due] = judgedWith([150, 60]);
    expect(pending).toMatchObject({ ...longer, eviction: "pending", toleratedTaint: { key: first } });
    expect(due).toMatchObject({ ...longer, eviction: "due", toleratedTaint: { key: first } });
  });

  test("with the present taint alone if that counts", () => {
    const [pending] = judgedWith([60, 150]);
    expect(pending).toMatchObject(longer);
    expect(pending).not.toHaveProperty("toleratedTaint");
  });

  test("again when its tolerations trade seconds", () => {
    const [before, after, due] = judgedWith([150, 60], [60, 150]);
    expect(before).toMatchObject({ ...longer, toleratedTaint: { key: first } });
    expect(after).toMatchObject({ ...longer, eviction: "pending" });
    expect(after).not.toHaveProperty("toleratedTaint");
    expect(due?.eviction).toBe("due");
  });
});
