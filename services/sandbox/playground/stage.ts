/** Plays scenes on a clock, one after the other. */
import type { Clock, Stop } from "../../../protocols/ports.ts";
import type { Controls } from "./controls.ts";
import type { Narration } from "./narration.ts";
import type { Scene } from "./scene.ts";

/** What playing scenes needs. */
export interface StageIo {
  readonly clock: Clock;
  readonly scenes: readonly Scene[];
  readonly narration: Narration;
  readonly controls: Controls;
  /** Pause between two scenes, for reading. */
  readonly pauseMs: number;
  readonly say: (line: string) => void;
}

const POLL_MS = 100;
/** The story fails when a scene lasts longer. */
const SCENE_MS_MAX = 60_000;

/** Plays the scenes. `ended` receives null on success, else what did not happen. The result stops the story. */
export function play(io: StageIo, ended: (missing: string | null) => void): Stop {
  const { clock, scenes, narration, controls, pauseMs, say } = io;
  let timer = clock.after(0, () => begin(0));
  const begin = (index: number): void => {
    const scene = scenes[index];
    if (scene === undefined) {
      ended(null);
      return;
    }
    say(scene.begins);
    scene.act?.(controls);
    poll(index, scene, clock.monotonicMs());
  };
  const poll = (index: number, scene: Scene, begunMs: number): void => {
    const lastedMs = clock.monotonicMs() - begunMs;
    if (lastedMs >= (scene.minMs ?? 0) && scene.until(narration)) {
      say(scene.ends(narration));
      timer = clock.after(scene.isBrief === true ? 0 : pauseMs, () => begin(index + 1));
    } else if (lastedMs > SCENE_MS_MAX) {
      ended(scene.awaits);
    } else {
      timer = clock.after(POLL_MS, () => poll(index, scene, begunMs));
    }
  };
  return () => timer.cancel();
}
