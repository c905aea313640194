/** `vigil top` in a real terminal: tmux shows what a user sees, resizes it and presses keys. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeUnless } from "../../support/describe-unless.ts";
import { until } from "../../support/until.ts";
import { FakeConsole } from "./fake-console.ts";
import { TMUX_MISSING, Tmux } from "./tmux.ts";

const MAIN = join(import.meta.dirname, "../../../services/vigil.js");

describeUnless(TMUX_MISSING, "vigil top in a terminal", () => {
  const console = new FakeConsole();
  const terminal = new Tmux("top");
  const screen = () => terminal.screen();
  const shows = (text: string) => terminal.shows(text);

  beforeAll(async () => {
    const command = `${process.execPath} ${MAIN} top --server=${await console.start()}`;
    terminal.open(100, 20);
    terminal.press(`PS1='$ '; clear; echo before; ${command}; echo "ended $?"`, "Enter");
  });
  afterAll(() => {
    terminal.close();
    console.stop();
  });

  test("shows the fleet, follows a resize, explains, and gives the screen back", async () => {
    await shows("> worker-7");
    expect(screen()[0]).toBe("Vigil 0.1.0 · cluster prod");
    await shows("messages/s");
    terminal.resize(50, 12);
    await until("the last line moves up", () => screen()[11]?.startsWith("q quit") === true);
    expect(screen().filter((line) => line.length > 50)).toEqual([]);
    terminal.press("Enter");
    await shows("Node worker-7 has been unknown.");
    terminal.press("q");
    await shows("ended 0");
    expect(screen().join("\n")).toContain("before");
    expect(screen().join("\n")).not.toContain("q quit");
  });

  test("without a terminal fails with one line", () => {
    let refused = "";
    try {
      execFileSync(process.execPath, [MAIN, "top"], { encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      refused = (error as { stderr: string }).stderr;
    }
    expect(refused).toBe("vigil: top needs a terminal; vigil get prints the same for pipes and files\n");
  });
});
