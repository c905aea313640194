/** Runs one controller through the scenario, step by step, and records what the API shows. */
import { Stage, type StartActor } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { Timeline } from "./timeline.ts";

const WITHIN_MS = 60_000;
/** A step is over when nothing has changed for this long: two passes of a controller that polls every second. */
const QUIET_MS = 2_500;

/** One run of the scenario; begun with `open`, ended with `close`. */
export class SideBySideRecorder {
  readonly stage: Stage;
  readonly timeline: Timeline;

  static async open(start: StartActor): Promise<SideBySideRecorder> {
    return new SideBySideRecorder(await Stage.open(start));
  }

  private constructor(stage: Stage) {
    this.stage = stage;
    this.timeline = new Timeline(stage.wire());
  }

  /** Takes an action, waits until the API shows its expected result, and then until nothing changes. */
  async step(name: string, act: () => unknown, holds: (timeline: Timeline) => boolean): Promise<void> {
    this.timeline.begin(name);
    await act();
    const isOver = () => holds(this.timeline) && this.timeline.quietMs() > QUIET_MS;
    await until(name, isOver, { withinMs: WITHIN_MS, everyMs: 100 }).catch((error: Error) => {
      throw new Error(
        `${error.message}; recorded lines:\n${this.timeline.eventTexts("").join("\n")}\n${this.stage.log()}`,
      );
    });
  }

  async close(): Promise<void> {
    this.timeline.stop();
    await this.stage.close();
  }
}
