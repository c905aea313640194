/** A machine that is suspended together with its clocks, and the owners that come after it. */
import { expect, test } from "vitest";
import { play, type Stage } from "./scenario.ts";

const SUSPENSION = { clockStops: true, fallsBehind: true, peersWaitMs: Number.POSITIVE_INFINITY };
const WAKES_SECONDS = 80;

/**
 * A machine is suspended while nodes stop sending heartbeats and are tainted. When it resumes, its clock is behind
 * until the API server has answered. Both processes end soon afterwards, so no process is left that observed the taints
 * appear.
 */
function sleepThenDie(stage: Stage, awakeSeconds: number): undefined {
  const [other, asleep] = stage.reach.processes;
  for (const kubelet of stage.kubelets().slice(0, 2)) kubelet.stop();
  stage.at(30, () => {
    const wake = asleep?.suspend(SUSPENSION);
    stage.at(WAKES_SECONDS - 30, () => wake?.());
  });
  stage.at(WAKES_SECONDS + 0.02, () => other?.kill());
  stage.at(WAKES_SECONDS + awakeSeconds, () => asleep?.kill());
  stage.at(WAKES_SECONDS + awakeSeconds + 0.7, () => other?.start());
  stage.at(WAKES_SECONDS + awakeSeconds + 1.7, () => asleep?.start());
}

test.each([0.3, 2, 12])("no pod goes early by what a machine recorded in %d s after it woke", (awakeSeconds) => {
  const { problem, sometimes } = play({
    zones: [6],
    podsPerNode: 7,
    processes: 2,
    seconds: 180,
    script: (stage) => sleepThenDie(stage, awakeSeconds),
  });
  expect(problem).toBeNull();
  expect(sometimes["process stopped together with its clock"]).toBe(1);
  expect(sometimes["pod evicted"]).toBeGreaterThan(0);
});
