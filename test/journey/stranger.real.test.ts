/** The first half hour of a stranger in a checkout, by README and what the playground prints alone. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithKube, kubeProgram } from "../support/kube-assets.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

describeWithKube("a stranger who has run npm ci", stranger, ["kubectl"]);

function stranger(): void {
  const folder = mkdtempSync(join(tmpdir(), "stranger-"));
  const PATH = [dirname(kubeProgram("kubectl")), process.env.PATH].join(delimiter);
  const env = { PATH, HOME: folder };
  let playground: ChildProcess;
  let out = "";

  /** Runs a printed line as it stands. */
  const type = async (line: string): Promise<string> => {
    const { stdout } = await promisify(execFile)("bash", ["-c", line], { cwd: ROOT, env, timeout: 50_000 });
    return stdout;
  };
  const printed = (pattern: RegExp): string => pattern.exec(out)?.[1] ?? "";

  beforeAll(async () => {
    expect(README).toContain("npm ci && npm start");
    expect(README).toContain("`npm start -- --serve`");
    // The pauses are for reading, and the default socket may be another playground's.
    const brief = ["--pause=0s", `--socket=${join(folder, "nodes.sock")}`, "--listen=127.0.0.1:0"];
    playground = spawn("npm", ["start", "--", "--serve", ...brief], { cwd: ROOT, env, detached: true });
    playground.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      out += chunk;
    });
    await until("the three commands are printed", () => out.includes("brings them all back"), { withinMs: 150_000 });
  }, 160_000);
  afterAll(async () => {
    const ended = once(playground, "close");
    process.kill(-(playground.pid ?? Number.NaN), "SIGTERM");
    await ended;
    rmSync(folder, { recursive: true });
  });

  const explained = async (node: string, pattern: RegExp): Promise<void> => {
    const ask = printed(/^Ask why: (.*)$/m);
    let answer = "";
    const isExplained = async (): Promise<boolean> => {
      answer = await type(ask.replace("node-b-01", node)).catch((error: { stderr: string }) => error.stderr);
      return pattern.test(answer);
    };
    await until(() => `${node} is explained by ${pattern}; it is ${answer}`, isExplained, { withinMs: 40_000 });
  };

  test("silences a zone and reads why nobody there is evicted", async () => {
    expect(await type(printed(/^ {2}(.* hollow stop .*)$/m))).toMatch(/^stop reached 20 nodes;/);
    await explained("node-b-01", /Node node-b-01 has been unknown since[\s\S]*FullDisruption/);
  });

  test("lets a node flap and reads when it was silent", async () => {
    expect(await type(printed(/^ {2}(.* hollow flap .*)$/m))).toMatch(/^flap reached 1 node;/);
    await explained("node-a-07", /judged unknown: silent for/);
  });

  test("deletes a node and reads that it is gone", async () => {
    expect(await type(printed(/^ {2}(kubectl .* delete node .*)$/m))).toBe('node "node-c-01" deleted\n');
    await explained("node-c-01", /deleted|gone|no longer/);
  });

  test("repairs everything with one command", async () => {
    expect(await type(printed(/^`(.* hollow resume.*)` brings/m))).toMatch(/^resume reached 60 nodes;/);
    await explained("node-b-01", /Node node-b-01 has been ready since/);
    await explained("node-c-01", /Node node-c-01 has been ready since/);
  });
}
