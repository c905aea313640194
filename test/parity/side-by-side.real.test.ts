/**
 * Runs upstream's own controller and Vigil through the same scenario at the same time, each on an API server of its
 * own.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithKube } from "../support/kube-assets.ts";
import { startControllerManager } from "../support/kube-controller-manager.ts";
import { type StartActor, vigilWith } from "../support/stage.ts";
import { bettered, DIFFERENCES, type Difference } from "./differences.ts";
import { playChanges, playSteadyState, TOLERATED_SECONDS } from "./scenario.ts";
import { SideBySideRecorder } from "./side-by-side.recorder.ts";
import type { Timeline } from "./timeline.ts";

const STORY_MS = 240_000;
/** A busy machine delays both sides, but by less than the tolerated difference. */
const LATE_SECONDS_MAX = TOLERATED_SECONDS - 1;
const FLAGS: Readonly<Record<string, string>> = {
  "node-monitor-period": "1s",
  "node-monitor-grace-period": "8s",
  "node-startup-grace-period": "10s",
  "node-eviction-rate": "1",
};

const upstream: StartActor = async (kubeconfig) => {
  const manager = await startControllerManager({ kubeconfig, controllers: ["nodelifecycle"], flags: FLAGS });
  return { kill: () => manager.stop(), log: () => manager.log() };
};

interface Lone {
  readonly step: string;
  readonly shownBy: Difference["shownBy"];
  readonly line: string;
}

/** The lines that only one side shows, step by step. */
function loneLines(theirs: Timeline, ours: Timeline): Lone[] {
  return [...theirs.steps].flatMap(([step, lines]): Lone[] => {
    const upstreams = [...lines].map(bettered);
    const own = ours.steps.get(step) ?? new Set<string>();
    return [
      ...upstreams.filter((line) => !own.has(line)).map((line): Lone => ({ step, shownBy: "theirs", line })),
      ...[...own].filter((line) => !upstreams.includes(line)).map((line): Lone => ({ step, shownBy: "ours", line })),
    ];
  });
}

const explains = (difference: Difference, lone: Lone): boolean =>
  difference.shownBy === lone.shownBy &&
  (difference.step ?? lone.step) === lone.step &&
  difference.line.test(lone.line);

/** Seconds between the taint of the dead node and the deletion of its pod, both as stamped by the API. */
function toleratedFor({ stamps }: Timeline): number {
  const step = "a node falls silent and does not return";
  const tainted = stamps.get(`${step}: Node away-for-good unreachable:NoExecute`) ?? Number.NaN;
  const deleted = stamps.get(`${step}: Pod for-five-seconds deletion`) ?? Number.NaN;
  return (deleted - tainted) / 1000;
}

describeWithKube("upstream's controller and Vigil, in the same scenario", () => {
  let theirs: Timeline;
  let ours: Timeline;
  const tellings: SideBySideRecorder[] = [];

  beforeAll(async () => {
    tellings.push(...(await Promise.all([upstream, vigilWith(FLAGS)].map((start) => SideBySideRecorder.open(start)))));
    [theirs, ours] = tellings.map(({ timeline }) => timeline) as [Timeline, Timeline];
    const tell = async (reporting: SideBySideRecorder) => {
      await playChanges(reporting);
      await playSteadyState(reporting);
    };
    await Promise.all(tellings.map(tell));
  }, STORY_MS);

  afterAll(() => Promise.all(tellings.map((reporting) => reporting.close())));

  test("show the same nodes, pods and Events in every step, but for listed differences", () => {
    const unexplained = loneLines(theirs, ours).filter((lone) => !DIFFERENCES.some((listed) => explains(listed, lone)));
    expect(unexplained.map(({ step, shownBy, line }) => `${step} | ${shownBy} | ${line}`).join("\n")).toBe("");
  });

  test("show every listed difference, so that none is listed for nothing", () => {
    const lone = loneLines(theirs, ours);
    const unseen = DIFFERENCES.filter(({ sometimes }) => sometimes !== true).filter(
      (listed) => !lone.some((line) => explains(listed, line)),
    );
    expect(unseen).toEqual([]);
  });

  test("have no difference without a row in docs/parity.md", () => {
    const rows = readFileSync(join(import.meta.dirname, "../../docs/parity.md"), "utf8").split("\n");
    const ids = new Set([...DIFFERENCES.flatMap((listed) => listed.rows), "D6"]);
    const isListed = (id: string) => rows.some((row) => row.startsWith(`| ${id} |`) && row.includes("side-by-side"));
    expect([...ids].filter((id) => !isListed(id))).toEqual([]);
  });

  test.each(["theirs", "ours"] as const)("wait as long as the pod tolerates before they delete it: %s", (whose) => {
    const waited = toleratedFor(whose === "theirs" ? theirs : ours);
    expect(waited).toBeGreaterThanOrEqual(TOLERATED_SECONDS);
    expect(waited).toBeLessThanOrEqual(TOLERATED_SECONDS + LATE_SECONDS_MAX);
  });
}, ["kube-controller-manager"]);
