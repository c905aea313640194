/** The screen of an interactive playground, line by line. Pure. */
import { type ControlState, MORTAL_MEMBER, STEADY_MEMBER } from "./controls.ts";
import type { Narration } from "./narration.ts";
import { picture, storyLine } from "./view.ts";

/** A line of the story, with when it was said. */
export interface StoryLine {
  readonly elapsedMs: number;
  readonly text: string;
}

/** What the screen shows. */
export interface Shown {
  /** How to reach the cluster. */
  readonly head: readonly string[];
  readonly narration: Narration;
  readonly state: ControlState;
  readonly lines: readonly StoryLine[];
  readonly legend: string;
}

/** At most as many lines as the screen has rows, none wider than its columns; the legend is the last. */
export function playgroundScreen(shown: Shown, { columns, rows }: { columns: number; rows: number }): string[] {
  const above = [...shown.head, "", ...picture(shown.narration), stateLine(shown.state), ""];
  const room = Math.max(0, rows - above.length - 1);
  const story = shown.lines.flatMap(({ elapsedMs, text }) => storyLine(elapsedMs, text, columns).split("\n"));
  const last = room === 0 ? [] : story.slice(-room);
  const padding = Array.from({ length: room - last.length }, () => "");
  const lines = [...above.slice(0, Math.max(0, rows - 1)), ...last, ...padding, shown.legend];
  return lines.map((line) => Array.from(line).slice(0, columns).join(""));
}

function stateLine({ isKilled, isBlind, hasPolicy }: ControlState): string {
  const members = isKilled
    ? `${STEADY_MEMBER} runs, ${MORTAL_MEMBER} is killed`
    : `${STEADY_MEMBER} and ${MORTAL_MEMBER} run`;
  const connection = isBlind ? "the API server is out of sight" : "the API server is in sight";
  return `  ${members}, ${connection}, ${hasPolicy ? "one policy" : "no policy"}`;
}
