/** Plays the playground's story on virtual time and checks its output. */
import { describe, expect, test } from "vitest";
import { PLAYGROUND_PROFILE, startPlayground } from "../../../services/cli/playground/playground-cluster.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { NODES_PER_ZONE, nodesOf, ZONES } from "../../../services/sandbox/playground/cluster.ts";
import { play } from "../../../services/sandbox/playground/stage.ts";
import { type Scene, storyOf } from "../../../services/sandbox/playground/story.ts";
import { closingTable, LiveView, picture, storyLine } from "../../../services/sandbox/playground/view.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { seededRandom } from "../../support/random.seeded.ts";

const STEP_MS = 100;
const STORY_MS_MAX = 300_000;

/** Plays scenes on virtual time; returns the narration, and what was missing at the end. */
function playVirtually(seed: number, scenes: readonly Scene[]) {
  const clock = new VirtualClock();
  const playground = startPlayground({ clock, random: seededRandom(seed), log: silentLog });
  const said: string[] = [];
  let missing: string | null | undefined;
  const say = (line: string) => said.push(line);
  play({ clock, scenes, pauseMs: 2000, say, ...playground }, (what) => {
    missing = what;
  });
  while (missing === undefined && clock.monotonicMs() < STORY_MS_MAX) clock.advance(STEP_MS);
  return { ...playground, clock, said, missing };
}

const STORY = storyOf(PLAYGROUND_PROFILE.nodeMonitorGraceMs);

describe("the story", () => {
  const played = playVirtually(1, STORY);

  test("ends well within a minute", () => {
    expect(played.missing).toBeNull();
    expect(played.clock.monotonicMs()).toBeLessThan(60_000);
    expect(played.said).toHaveLength(2 * STORY.length);
  });

  test("finds the 15 silent nodes in time, heals all, and fails no write", () => {
    expect(played.narration.totals).toMatchObject({ verdicts: 15, recoveries: 15, failedWrites: 0 });
    expect(played.narration.totals.latestMs).toBeLessThanOrEqual(PLAYGROUND_PROFILE.leaseBatchMs);
  });

  test("evicted the lone node's pod, and hardly any of the struck zone", () => {
    expect(played.narration.evicted).toContain("web-node-a-07");
    const struck = [...played.narration.evicted].filter((pod) => pod.includes("node-b-"));
    expect(struck.length).toBeLessThanOrEqual(2);
    expect([...played.narration.evicted].every((pod) => pod.startsWith("web-"))).toBe(true);
  });

  test("is the same story again from the same seed", () => {
    expect(playVirtually(1, STORY).said).toEqual(played.said);
  });

  test("leaves no timer behind once stopped", () => {
    played.stop();
    played.clock.advance(120_000);
    expect(played.clock.pendingTimers).toBe(0);
  });
});

test("a story that fails names what it waited for", () => {
  const never = { begins: "", awaits: "the moon", until: () => false, ends: () => "" };
  expect(playVirtually(1, [never]).missing).toBe("the moon");
});

describe("the view", () => {
  const { narration } = playVirtually(1, STORY.slice(0, 5));

  test("draws each zone with its nodes and its state", () => {
    expect(picture(narration)).toEqual([
      expect.stringMatching(/zone-a {2}█{20} {2}Normal: 20 Ready$/),
      expect.stringMatching(/zone-b {2}█{6}░{14} {2}PartialDisruption: 6 Ready, 14 Unknown, \d+ wait/),
      expect.stringMatching(/zone-c {2}█{20} {2}Normal: 20 Ready$/),
    ]);
  });

  test("ends with a table of statistics", () => {
    expect(closingTable(narration, 42_000).join("\n")).toMatch(
      /nodes judged Unknown +15\n[\s\S]*the story took +42 s$/,
    );
  });

  test("wraps long lines of the story with an indent", () => {
    expect(storyLine(1234, "one two three", 19)).toBe("   1.2 s  one two\n          three");
  });

  test("is redrawn in place on a terminal, with the story above it", () => {
    let screen = "";
    const view = new LiveView((text) => {
      screen += text;
    }, 10);
    view.draw(["picture", "of more than ten"]);
    view.line("story");
    expect(screen).toBe("picture\nof more t\n\u001b[2A\u001b[0Jstory\npicture\nof more t\n");
  });
});

test("the introduction names the right number of nodes", () => {
  expect(ZONES.flatMap(nodesOf)).toHaveLength(ZONES.length * NODES_PER_ZONE);
});
