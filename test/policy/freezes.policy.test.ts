/** What is remembered of freezes: exact over every way to begin, extend and end one. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FROZEN_INTERVALS_MAX } from "../../protocols/judged.ts";
import type { FrozenInterval, PauseRequest } from "../../protocols/policy-set.ts";
import { frozenAt } from "../../services/domain/paused-time/frozen-time.ts";
import {
  type FreezeMemory,
  type FreezeSource,
  type FreezeSources,
  freezeMemory,
  freezeSources,
  frozenTime,
  lastingSources,
  memoryText,
  readMemory,
  readPauseRequests,
  readSources,
} from "../../services/policy/freezes.policy.ts";

const frozen = (...spans: readonly (readonly [number, number | null])[]): FrozenInterval[] =>
  spans.map(([fromAt, toAt]) => ({ fromAt, toAt }));
const asked = (sinceAt: number | null, untilAt: number | null): PauseRequest => {
  return { name: "oncall", reason: null, sinceAt, untilAt };
};
const by = (...pauseRequests: FreezeSource["pauseRequests"][number][]): FreezeSource => ({
  byMode: false,
  pauseRequests,
  changedAt: null,
});
const byMode = (more: Partial<FreezeSource> = {}): FreezeSource => ({ ...by(), byMode: true, ...more });
const step = (before: readonly FrozenInterval[], source: FreezeSource, nowAt: number, sourceBefore?: FreezeSource) => {
  const sourcesBefore = new Map(sourceBefore === undefined ? [] : [["gpu", sourceBefore] as const]);
  const change = { sourcesBefore, sources: new Map([["gpu", source]]) };
  return frozenTime(freezeMemory(new Map([["gpu", before]]), change, nowAt), "gpu", nowAt);
};

describe("a freeze", () => {
  test.each([
    ["by mode begins when it is seen", [], byMode(), 100, [[100, null]]],
    ["by mode begins when the policy was changed", [], byMode({ changedAt: 90 }), 100, [[90, null]]],
    ["by mode never begins in the future", [], byMode({ changedAt: 190 }), 100, [[100, null]]],
    ["by mode goes on", [[60, null]], byMode({ changedAt: 90 }), 100, [[60, null]]],
    ["by mode ends when that is seen", [[60, null]], by(), 100, [[60, 100]]],
    ["by mode ends when the policy was changed", [[60, null]], { ...by(), changedAt: 80 }, 100, [[60, 80]]],
    ["by mode ends then on a clock behind", [[60, null]], { ...by(), changedAt: 120 }, 100, [[60, 120]]],
    ["by a request is as the request says", [], by(asked(70, 200)), 100, [[70, 200]]],
    ["by a request without instants begins when it is seen", [], by(asked(null, null)), 100, [[100, null]]],
    ["by a request without a beginning ends as it says", [[60, 200]], by(asked(null, 150)), 100, [[60, 150]]],
    ["that was asked for and ended unseen is remembered", [], by(asked(20, 40)), 100, [[20, 40]]],
    ["that was thawed earlier than planned ended then", [[60, 200]], by(asked(60, 80)), 100, [[60, 80]]],
    ["whose request was removed ended when that is seen", [[60, 200]], by(), 100, [[60, 100]]],
    ["that was extended ends later", [[60, 90]], by(asked(60, 200)), 100, [[60, 200]]],
    ["of the past stays", [[20, 40]], by(), 100, [[20, 40]]],
    ["planned for later is known", [], by(asked(150, 200)), 100, [[150, 200]]],
    ["planned for later and given up never was", [[150, 200]], by(), 100, []],
    ["within another counts once", [[60, null]], byMode({ pauseRequests: [asked(70, 80)] }), 100, [[60, null]]],
    ["by a request outlives the mode", [[60, null]], by(asked(60, 200)), 100, [[60, 200]]],
    ["by a later request outlives the mode", [[60, null]], by(asked(70, 200)), 100, [[60, 200]]],
  ] as const)("%s", (_what, before, source, nowAt, after) => {
    expect(step(frozen(...before), source, nowAt)).toEqual(frozen(...after));
  });

  test.each([
    ["the mode", byMode(), 100],
    ["a request without instants", by(asked(null, null)), 100],
    ["a request without a beginning", by(asked(null, 95)), 95],
    ["a later request", by(asked(70, null)), 100],
    ["nothing", by(), 80],
  ] as const)("by %s outlives an ended request that began it", (_what, other, endAt) => {
    const ended = { ...asked(60, 80), name: "ended" };
    const both = { ...other, pauseRequests: [ended, ...other.pauseRequests] };
    expect(step(frozen([60, null]), by(ended), 100, both)).toEqual(frozen([60, endAt]));
  });

  test.each([
    ["now", [60, null], 90, 100, [60, 90]],
    ["earlier than the ended request", [60, null], 70, 100, [60, 80]],
    ["earlier than planned", [60, 200], 90, 100, [60, 90]],
    ["later than now", [60, null], 150, 100, [60, 150]],
  ] as const)("without a beginning that is thawed %s outlives an ended one", (_when, before, untilAt, nowAt, after) => {
    const ended = { ...asked(60, 80), name: "ended" };
    const planned = asked(null, before[1]);
    expect(step(frozen(before), by(ended, asked(null, untilAt)), nowAt, by(ended, planned))).toEqual(frozen(after));
  });

  test("of a policy that is gone is forgotten", () => {
    expect(freezeMemory(new Map([["gone", frozen([1, 2])]]), { sources: new Map([["gpu", by()]]) }, 9).size).toBe(0);
  });

  test("with instants is remembered the same however late it is seen", () => {
    const requests = fc.array(fc.tuple(fc.nat(100), fc.integer({ min: 1, max: 50 })), { maxLength: 5 });
    const steps = fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(requests, steps, (drawn, instants) => {
        const source = by(...drawn.map(([at, ms]) => asked(at, at + ms)));
        let seen: readonly FrozenInterval[] = [];
        for (const at of instants.toSorted((left, right) => left - right)) seen = step([...seen], source, at);
        for (let at = 0; at < 160; at++) {
          expect(frozenAt(seen, at) !== null).toBe(drawn.some(([from, ms]) => from <= at && at < from + ms));
        }
      }),
    );
  });
});

/** What is remembered in the end, from what froze the nodes and when each change of that was seen. */
const remembered = (...changes: readonly (readonly [FreezeSource, number])[]): readonly FrozenInterval[] => {
  let [memory, sourcesBefore] = [new Map() as FreezeMemory, new Map() as FreezeSources];
  for (const [source, nowAt] of changes) {
    const sources = new Map([["gpu", source]]);
    memory = freezeMemory(memory, { sourcesBefore, sources }, nowAt);
    const text = memoryText(memory, lastingSources(sources, nowAt));
    // Another process would go on from the text.
    [memory, sourcesBefore] = [readMemory(text), readSources(text)];
  }
  return frozenTime(memory, "gpu", changes.at(-1)?.[1] ?? 0);
};

describe("a freeze among others", () => {
  const first = { ...asked(60, 80), name: "first" };
  const later = { ...asked(120, null), name: "later" };

  test.each([
    ["ended as planned", by(first, asked(null, 125), later), by(first, asked(null, 125), later)],
    ["was removed", by(first, asked(null, null), later), by(first, later)],
    ["was thawed", by(first, asked(null, null), later), by(first, asked(null, 125), later)],
    ["by mode ended", byMode({ pauseRequests: [first, later] }), by(first, later)],
  ])("that %s stays while the next one goes on", (_how, during, then) => {
    const seen = remembered([by(first), 65], [during, 70], [during, 122], [then, 130], [then, 135], [by(later), 200]);
    expect(seen).toEqual(frozen([60, null]));
  });

  test("stays though a longer one was thawed", () => {
    const [long, thawed] = [asked(60, null), asked(60, 70)];
    const undated = { ...asked(null, 90), name: "undated" };
    expect(remembered([by(long), 62], [by(long, undated), 65], [by(long), 95], [by(thawed), 100])).toEqual(
      frozen([60, 90]),
    );
  });

  test("without a beginning begins when it is seen", () => {
    const [long, thawed] = [asked(60, null), asked(60, 70)];
    const undated = { ...asked(null, null), name: "undated" };
    expect(remembered([by(long), 62], [by(long, undated), 80], [by(thawed, undated), 90])).toEqual(
      frozen([60, 70], [80, null]),
    );
  });

  test("of the past is bounded, and what goes on is not lost", () => {
    let memory: FreezeMemory = new Map();
    const sources = new Map([["gpu", by(...Array.from({ length: 40 }, (_, index) => asked(10_000 + index, null)))]]);
    for (let at = 0; at < 4_000; at += 100) {
      memory = freezeMemory(memory, { sources: new Map([["gpu", by(asked(at, at + 50))]]) }, at + 60);
    }
    memory = freezeMemory(memory, { sources }, 11_000);
    expect(memory.get("gpu")).toHaveLength(FROZEN_INTERVALS_MAX + 40);
    expect(frozenTime(memory, "gpu", 11_000)).toHaveLength(FROZEN_INTERVALS_MAX);
    expect(frozenTime(memory, "gpu", 11_000).at(-1)).toEqual({ fromAt: 10_000, toAt: null });
  });

  test("that is planned freezes no node before it begins", () => {
    const windows = Array.from({ length: 40 }, (_, day) => asked(day * 100, day * 100 + 10));
    const sources = new Map([["gpu", by(...windows)]]);
    const isFrozen = (nowAt: number) => {
      const memory = freezeMemory(new Map(), { sources }, nowAt);
      const intervals = frozenTime(memory, "gpu", nowAt);
      expect(intervals.length).toBeLessThanOrEqual(FROZEN_INTERVALS_MAX);
      return frozenAt(intervals, nowAt) !== null;
    };
    const nights = windows.map((_, day) => [isFrozen(day * 100 + 5), isFrozen(day * 100 + 50)]);
    expect(nights).toEqual(windows.map(() => [true, false]));
  });
});

const planned = asked(60, 200);

describe("a planned freeze, unseen,", () => {
  const [changedAt, other] = [80, { ...planned, name: "other" }];

  test.each([
    ["ends with its thaw", by(planned), by(asked(60, 80)), [60, 80]],
    ["ends as planned", by(planned), by(planned), [60, 200]],
    ["ends later when it was extended", by(planned), by(asked(60, 220)), [60, 220]],
    ["ends as planned with another of that time", by(planned, other), by(asked(60, 80), other), [60, 200]],
    ["ends with its request", by(planned), { ...by(), changedAt }, [60, 80]],
    ["ends as planned when the ConfigMap loses it", by({ ...planned, isRecorded: true }), by(), [60, 200]],
  ] as const)("%s", (_how, during, then, after) => {
    expect(remembered([during, 70], [then, 250])).toEqual(frozen(after));
  });
});

test("a planned freeze stays once a process has seen its end", () => {
  expect(remembered([by(planned), 70], [by(planned), 210], [by(asked(60, 80)), 250])).toEqual(frozen([60, 200]));
});

describe("a freeze of a policy by the ConfigMap", () => {
  const changedAt = 30;
  const without = { ...by(), changedAt };
  const recorded = (sinceAt: number | null) => {
    return { ...by({ ...asked(sinceAt, null), isRecorded: true }), changedAt };
  };

  test.each([
    ["with instants", recorded(60), without, [60, 100]],
    ["without instants", recorded(null), without, [60, 100]],
    ["after a change of the policy", recorded(60), { ...without, changedAt: 80 }, [60, 100]],
    ["from a text of before", { ...by(asked(60, null)), changedAt }, without, [60, 100]],
    ["from such a text beside one", { ...by(asked(40, 50), asked(null, null)), changedAt }, without, [30, 100]],
    ["beside the mode, which goes on", recorded(60), { ...byMode(), changedAt: 90 }, [60, null]],
  ] as const)("counts until it goes: %s", (_what, during, then, after) => {
    expect(remembered([without, 50], [during, 60], [then, 100], [then, 200])).toEqual(frozen(after));
  });

  test("differs from one of the policy", () => {
    const [own, request] = [{ name: "own" }, { name: "request", policy: "gpu" }];
    const sources = freezeSources(
      [{ name: "gpu", spec: { selector: {}, pauseRequests: [own] }, changedAt }],
      readPauseRequests(JSON.stringify([request])).requests,
    );
    expect(sources.get("gpu")?.pauseRequests).toEqual([
      { ...asked(null, null), name: "own" },
      { ...asked(null, null), name: "request", isRecorded: true },
    ]);
  });
});

test("a policy that is not in force freezes all nodes, and its own time is kept", () => {
  const sources = freezeSources([{ name: "gpu", spec: null, unplaced: [{ name: "bob" }], changedAt: 30 }], []);
  const asRequest = { ...asked(null, null), name: "bob" };
  expect(sources.get("")?.pauseRequests).toEqual([asRequest]);
  expect(sources.get("gpu")?.pauseRequests).toEqual([asRequest]);
  const memory = freezeMemory(new Map([["gpu", frozen([10, 20])]]), { sources }, 100);
  expect(memory.get("gpu")).toEqual(frozen([10, 20], [30, null]));
});

test("the memory is read as it was written, without what is malformed", () => {
  const memory = new Map([
    ["", frozen([1_790_000_000_000.5, null])],
    ["gpu", frozen([10, 20], [30, 40])],
  ]);
  expect(readMemory(memoryText(memory))).toEqual(memory);
  expect(readMemory('{"gpu": [{"from": "x", "to": null}, {"from": "2026-01-01T00:00:00Z", "to": "y"}, 3]}')).toEqual(
    new Map([["gpu", []]]),
  );
  expect(readMemory("no JSON").size).toBe(0);
  expect(readMemory(null).size).toBe(0);
});

test("what froze nodes is read as it was written, and unknown of an earlier text", () => {
  const memory = new Map([["gpu", frozen([10, 20], [30, null])]]);
  const sources = new Map([
    ["gpu", byMode({ pauseRequests: [asked(30, 90), { ...asked(null, null), isRecorded: true }] })],
  ]);
  const text = memoryText(memory, sources);
  expect(readMemory(text)).toEqual(memory);
  expect(readSources(text)).toEqual(sources);
  expect(readSources(memoryText(memory)).get("gpu")).toEqual(by());
  expect(readSources(null).size).toBe(0);
  expect(readSources('{"gpu": [{"by": [{"name": 3}, "x"]}]}').get("gpu")?.pauseRequests).toEqual([]);
});

describe("the text of recorded requests", () => {
  const gpu = { scope: "gpu", request: { name: "a" } };

  test("is read, and a wrong part counts as unset", () => {
    const text = JSON.stringify([
      { name: "a", policy: "gpu" },
      { name: "b", until: "2026-01-01T00:00:00Z" },
      { nome: "c", policy: "gpu" },
      { name: "d", policy: 3 },
      { name: "e", until: "2026-13-01T00:00:00Z" },
    ]);
    expect(readPauseRequests(text)).toEqual({
      requests: [
        gpu,
        { scope: "", request: { name: "b", until: "2026-01-01T00:00:00Z" } },
        { scope: "gpu", request: { name: "unknown" } },
        { scope: "", request: { name: "d" } },
        { scope: "", request: { name: "e" } },
      ],
      problems: [
        expect.stringContaining("data.pauseRequests[2].name: missing"),
        "data.pauseRequests[3].policy: write the name of a policy",
        expect.stringContaining("data.pauseRequests[4].until: "),
      ],
    });
  });

  test("freezes by the 65th entry, with a problem", () => {
    const ended = Array.from({ length: 64 }, (_, index) => ({ name: `e${index}`, until: "2026-01-01T00:00:00Z" }));
    const { requests, problems } = readPauseRequests(JSON.stringify([...ended, { name: "oncall", policy: "gpu" }]));
    expect(requests.at(-1)).toEqual({ scope: "gpu", request: { name: "oncall" } });
    expect(problems).toEqual(["data.pauseRequests: has 65 entries, more than 64: remove those that have ended"]);
  });

  test.each([null, "", " "])("asks for nothing when it is %j", (text) => {
    expect(readPauseRequests(text)).toEqual({ requests: [], problems: [] });
  });

  test.each(["[{", "{}", "oncall"])("that is no list, as %j, freezes all nodes", (text) => {
    expect(readPauseRequests(text)).toEqual({
      requests: [{ scope: "", request: { name: "unknown", reason: "data.pauseRequests cannot be read" } }],
      problems: ["data.pauseRequests: is no JSON list; all nodes are frozen until it is one"],
    });
  });
});
