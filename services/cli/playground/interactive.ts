/** `vigil playground --interactive`: a screen of the cluster, and keys that break it. */
import type { Terminal } from "../../platform/process/terminal.ts";
import { Director, type DirectorIo, legendOf } from "../../sandbox/playground/director.ts";
import { playgroundScreen, type StoryLine } from "../../sandbox/playground/screen.ts";
import { actsOf } from "../../sandbox/playground/story.ts";
import { Failure, type Host, untilStopped } from "../verb.ts";
import type { Playground } from "./playground-cluster.ts";
import { PLAYGROUND_PROFILE } from "./playground-members.ts";

const REDRAW_MS = 250;
/** Lines of the story that are kept for a higher screen. */
const LINES_MAX = 200;
const ENDING_KEYS: readonly string[] = ["q", "escape", "interrupt"];

const NO_TERMINAL = "playground --interactive needs a terminal; without the flag the story plays by itself";

/** Throws a Failure where there is no terminal to draw on. */
export function requireTerminal({ interactive }: Host): void {
  if (!interactive) throw new Failure(NO_TERMINAL);
}

/** What the screen needs besides the playground. */
export interface ScreenIo extends Pick<DirectorIo, "clock" | "random" | "pauseMs"> {
  /** How to reach the cluster. */
  readonly head: readonly string[];
}

/** Shows the playground until `q` is pressed or the process is stopped. Throws a Failure without a keyboard. */
export async function playInteractively(
  { controls, narration }: Playground,
  { clock, random, pauseMs, head }: ScreenIo,
  host: Host,
): Promise<void> {
  const begunMs = clock.monotonicMs();
  const acts = actsOf(PLAYGROUND_PROFILE.nodeMonitorGraceMs);
  const lines: StoryLine[] = [];
  const ending = new AbortController();
  let terminal: Terminal | null = null;
  let director: Director | null = null;
  const draw = (): void => {
    if (terminal === null) return;
    const shown = { head, narration, state: controls.state(), lines, legend: legendOf(acts) };
    terminal.draw(playgroundScreen(shown, terminal.size()));
  };
  const say = (text: string): void => {
    lines.push({ elapsedMs: clock.monotonicMs() - begunMs, text });
    if (lines.length > LINES_MAX) lines.shift();
    draw();
  };
  const key = (pressed: string): void => {
    if (ENDING_KEYS.includes(pressed)) ending.abort();
    else director?.press(pressed);
    draw();
  };
  terminal = host.openTerminal({ key, resized: draw });
  if (terminal === null) throw new Failure(NO_TERMINAL);
  director = new Director({ clock, random, controls, narration, acts, pauseMs, say });
  const redraw = (): void => {
    draw();
    timer = clock.after(REDRAW_MS, redraw);
  };
  let timer = clock.after(0, redraw);
  await untilStopped({ stopped: AbortSignal.any([host.stopped, ending.signal]) });
  timer.cancel();
  director.stop();
  terminal.close();
}
