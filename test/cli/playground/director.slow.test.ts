/** The keys of an interactive playground, on virtual time. */
import { beforeEach, describe, expect, test } from "vitest";
import { startPlayground } from "../../../services/cli/playground/playground-cluster.ts";
import { PLAYGROUND_PROFILE } from "../../../services/cli/playground/playground-members.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { Director, legendOf } from "../../../services/sandbox/playground/director.ts";
import { playgroundScreen } from "../../../services/sandbox/playground/screen.ts";
import { actsOf } from "../../../services/sandbox/playground/story.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { seededRandom } from "../../support/random.seeded.ts";

const STEP_MS = 100;
const ACTS = actsOf(PLAYGROUND_PROFILE.nodeMonitorGraceMs);

function directed() {
  const clock = new VirtualClock();
  const random = seededRandom(5);
  const playground = startPlayground({ clock, random, log: silentLog });
  const said: string[] = [];
  const { controls: cast, narration } = playground;
  const say = (text: string) => said.push(text);
  const director = new Director({ clock, random, controls: cast, narration, acts: ACTS, pauseMs: 500, say });
  const until = (text: string): void => {
    for (let stepped = 0; !said.some((line) => line.includes(text)); stepped++) {
      if (stepped > 1_000) throw new Error(`never said ${text}; last: ${said.at(-1) ?? ""}`);
      clock.advance(STEP_MS);
    }
  };
  until("Press a key");
  const pass = (ms: number): void => {
    for (let passed = 0; passed < ms; passed += STEP_MS) clock.advance(STEP_MS);
  };
  return { ...playground, clock, said, director, until, pass };
}

describe("the keys", () => {
  let world: ReturnType<typeof directed>;
  beforeEach(() => {
    world = directed();
  });

  test.each(ACTS.map(({ title }, index) => [index + 1, title] as const))("%i plays twice: %s", (number) => {
    for (const _time of [1, 2]) {
      world.said.length = 0;
      world.director.press(String(number));
      world.until("That was it");
      expect(world.said.join("\n")).not.toContain("broke off");
    }
    expect(world.narration.count("ready")).toBe(60);
  });

  test("s silences one node, and r brings it back with its pods", () => {
    world.director.press("s");
    expect(world.said.at(-1)).toMatch(/^node-[abc]-\d\d loses its power\.$/);
    world.pass(15_000);
    expect(world.narration.count("unknown")).toBe(1);
    expect(world.narration.evicted.size).toBe(1);
    world.director.press("r");
    world.pass(2_000);
    expect(world.narration.count("ready")).toBe(60);
    expect(world.apiserver.store.collection("pods").size).toBe(180);
  });

  test("k kills a member, and nodes are still judged; k again starts it", () => {
    world.director.press("k");
    expect(world.controls.state().isKilled).toBe(true);
    world.pass(8_000);
    world.controls.nodes.stop({ zone: "zone-a" });
    world.pass(8_000);
    expect(world.narration.count("unknown")).toBe(20);
    world.director.press("k");
    expect(world.controls.state().isKilled).toBe(false);
  });

  test("b blinds Vigil, which then judges nobody", () => {
    world.director.press("b");
    world.controls.nodes.stop({ zone: "zone-a" });
    world.pass(20_000);
    expect(world.narration.count("ready")).toBe(60);
    world.director.press("b");
    world.pass(20_000);
    expect(world.narration.count("unknown")).toBe(20);
  });

  test("p applies a policy and deletes it", () => {
    const policies = () => [...world.narration.nodes.values()].filter(({ policy }) => policy !== undefined).length;
    world.director.press("p");
    world.pass(1_000);
    expect(policies()).toBe(20);
    world.director.press("p");
    world.pass(1_000);
    expect(policies()).toBe(0);
  });

  test("a second scene waits for the first, and r ends it", () => {
    world.director.press("1");
    world.director.press("2");
    expect(world.said.at(-1)).toBe("A scene is being played; r ends it.");
    world.director.press("r");
    world.director.press("2");
    expect(world.said.at(-1)).not.toBe("A scene is being played; r ends it.");
  });

  test("another key does nothing", () => {
    const before = world.said.length;
    for (const key of ["x", "0", "up", "9"]) world.director.press(key);
    expect(world.said).toHaveLength(before);
  });

  test("leaves no timer behind once stopped", () => {
    world.director.press("3");
    world.director.press("k");
    world.director.stop();
    world.stop();
    world.clock.advance(120_000);
    expect(world.clock.pendingTimers).toBe(0);
  });
});

describe("the screen", () => {
  const { narration, controls: cast, director } = directed();
  director.press("k");
  director.press("b");
  director.press("p");
  const lines = Array.from({ length: 30 }, (_, index) => ({
    elapsedMs: index * 1000,
    text: `line ${index} of a story`,
  }));
  const shown = { head: ["kubectl get nodes"], narration, state: cast.state(), lines, legend: legendOf(ACTS) };

  test("shows the zones, what is broken, the last lines and the keys", () => {
    const lines = playgroundScreen(shown, { columns: 100, rows: 12 });
    expect(lines).toHaveLength(12);
    expect(lines.join("\n")).toContain("zone-a  ████████████████████  Normal: 20 Ready");
    expect(lines).toContain("  vigil-1 runs, vigil-2 is killed, the API server is out of sight, one policy");
    expect(lines.at(-2)).toContain("line 29 of a story");
    expect(lines.at(-1)).toBe("1-5 scenes · s silence a node · k kill -9 · b blind · p policy · r repair all · q quit");
  });

  test.each([
    [40, 6],
    [80, 24],
    [20, 3],
  ])("fits into %i columns and %i rows, with the keys at the end", (columns, rows) => {
    const lines = playgroundScreen(shown, { columns, rows });
    expect(lines).toHaveLength(rows);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(lines.at(-1)).toMatch(/^1-5 scenes/);
  });
});
