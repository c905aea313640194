/** `vigil playground --interactive` in a real terminal: tmux shows what a user sees and presses keys. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeUnless } from "../../support/describe-unless.ts";
import { until } from "../../support/until.ts";

const MAIN = join(import.meta.dirname, "../../../services/vigil.js");
const TMUX = "/usr/bin/tmux";
const MISSING = existsSync(TMUX) ? null : "tmux not found: apt-get install tmux";
/** A server of tmux for this test alone. */
const SOCKET = `vigil-play-${process.pid}`;
const tmux = (...args: string[]) => execFileSync(TMUX, ["-L", SOCKET, ...args], { encoding: "utf8" });

const LONG = { timeout: 120_000 };

describeUnless(MISSING, "vigil playground --interactive in a terminal", () => {
  const screen = () => tmux("capture-pane", "-p", "-t", "play").trimEnd().split("\n");
  const shows = (text: string) =>
    until(
      () => `the screen shows ${text}; it is ${screen().join("\n")}`,
      () => screen().join("\n").includes(text),
      { withinMs: 40_000 },
    );
  const press = (key: string) => tmux("send-keys", "-t", "play", key);

  beforeAll(() => {
    const command = `${process.execPath} ${MAIN} playground --interactive --listen=127.0.0.1:0 --console=127.0.0.1:0`;
    tmux("-f", "/dev/null", "new-session", "-d", "-s", "play", "-x", "100", "-y", "24", "sh");
    tmux("send-keys", "-t", "play", `PS1='$ '; clear; echo before; ${command}; echo "ended $?"`, "Enter");
  });
  afterAll(() => tmux("kill-server"));

  test("takes keys, follows a resize, and gives the screen back", LONG, async () => {
    await shows("Press a key");
    expect(screen().at(-1)).toMatch(/^1-5 scenes · .* · q quit$/);
    expect(screen().join("\n")).toContain("export VIGIL_SERVER=http://127.0.0.1:");
    press("k");
    await shows("vigil-1 runs, vigil-2 is killed");
    press("s");
    await shows("loses its power.");
    await shows("1 Unknown");
    press("b");
    await shows("the API server is out of sight");
    press("r");
    await shows("vigil-1 and vigil-2 run, the API server is in sight");
    press("5");
    await shows("A NodePolicy is applied");
    tmux("resize-window", "-t", "play", "-x", "60", "-y", "16");
    await until("the keys are in the last line", () => screen()[15]?.startsWith("1-5 scenes") === true);
    press("q");
    await shows("ended 0");
    expect(screen().join("\n")).toContain("before");
    expect(screen().join("\n")).not.toContain("1-5 scenes");
  });

  test("without a terminal fails with one line", () => {
    let refused: { status?: number; stderr?: string } = {};
    try {
      execFileSync(process.execPath, [MAIN, "playground", "--interactive"], { encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      refused = error as typeof refused;
    }
    expect(refused.status).toBe(1);
    expect(refused.stderr).toBe(
      "vigil: playground --interactive needs a terminal; without the flag the story plays by itself\n",
    );
  });
});
