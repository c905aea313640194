/**
 * The first half hour of a new user: a clean copy of the repository, the commands of the README, and then those that
 * the playground prints.
 */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithKube, kubeProgram } from "../support/kube-assets.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
/** An installation unpacks more than half a gigabyte, and beside it other suites may use both cores. */
const INSTALLED_MS = 600_000;
const STARTED_MS = 300_000;
/** How long a typed line may last, and how long its output may. */
const TYPED_MS = 100_000;
/** Lines are typed again until one explains what happened. */
const TRIED = { timeout: 3 * TYPED_MS };

describeWithKube("a new user with a clean copy", stranger, ["kubectl"]);

function stranger(): void {
  const folder = mkdtempSync(join(tmpdir(), "stranger-"));
  const checkout = join(folder, "vigil");
  const home = join(folder, "home");
  // Without the programs that this checkout has installed.
  const path = (process.env.PATH ?? "").split(delimiter).filter((each) => !each.includes("node_modules"));
  const PATH = [dirname(kubeProgram("kubectl")), ...path].join(delimiter);
  let playground: ChildProcess;
  let out = "";

  /** Runs a printed line unchanged. */
  const type = async (line: string): Promise<string> => {
    const env = { PATH, HOME: home };
    const { stdout } = await promisify(execFile)("bash", ["-c", line], { cwd: checkout, env, timeout: TYPED_MS });
    return stdout;
  };
  const printed = (pattern: RegExp): string => pattern.exec(out)?.[1] ?? "";

  beforeAll(async () => {
    mkdirSync(home);
    copyTo(checkout);
    const readme = readFileSync(join(checkout, "README.md"), "utf8");
    const [, install = "", start = ""] = /^```\n(npm ci) && (npm start)\n```$/m.exec(readme) ?? [];
    expect(readme).toContain(`\`${start} -- --serve\``);
    // The registry, its certificates and the cache belong to the user who runs this test.
    const env = { ...ofMachine(process.env), PATH };
    await promisify(execFile)("bash", ["-c", install], { cwd: checkout, env, timeout: INSTALLED_MS });
    // The pauses are for reading, and the default socket may be another playground's.
    const brief = `--pause=0s --socket=${join(folder, "nodes.sock")} --listen=127.0.0.1:0`;
    const options = { cwd: checkout, env: { PATH, HOME: home }, detached: true };
    playground = spawn("bash", ["-c", `${start} -- --serve ${brief}`], options);
    playground.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      out += chunk;
    });
    await until(
      () => `the three commands are printed; it prints ${out}`,
      () => out.includes("brings them all back"),
      { withinMs: STARTED_MS },
    );
  }, INSTALLED_MS + STARTED_MS);
  afterAll(async () => {
    if (playground !== undefined) {
      const ended = once(playground, "close");
      process.kill(-(playground.pid ?? Number.NaN), "SIGTERM");
      await ended;
    }
    rmSync(folder, { recursive: true });
  });

  const explained = async (node: string, pattern: RegExp): Promise<void> => {
    const ask = `${printed(/^ {2}(export .*)$/m)}; ${printed(/^ {2}(.* explain node .*)$/m)}`;
    let answer = "";
    const isExplained = async (): Promise<boolean> => {
      answer = await type(ask.replace("node-b-01", node)).catch((error: { stderr: string }) => error.stderr);
      return pattern.test(answer);
    };
    await until(() => `${node} is explained by ${pattern}; it is ${answer}`, isExplained, { withinMs: TYPED_MS });
  };

  test("silences a zone and reads why no pod there is evicted", TRIED, async () => {
    expect(await type(printed(/^ {2}(.* hollow stop .*)$/m))).toMatch(/^stop reached 20 nodes;/);
    await explained("node-b-01", /Node node-b-01 has been unknown since[\s\S]*FullDisruption/);
  });

  test("lets a node flap and reads when it was silent", TRIED, async () => {
    expect(await type(printed(/^ {2}(.* hollow flap .*)$/m))).toMatch(/^flap reached 1 node;/);
    await explained("node-a-07", /judged unknown: silent for/);
  });

  test("deletes a node and reads that it is gone", TRIED, async () => {
    expect(await type(printed(/^ {2}(kubectl .* delete node .*)$/m))).toBe('node "node-c-01" deleted\n');
    await explained("node-c-01", /deleted|gone|no longer/);
  });

  test("stops evictions, lets them go on, and previews another failure", TRIED, async () => {
    const exported = printed(/^ {2}(export KUBECONFIG=.*)$/m);
    const typed = (line: RegExp) => type(`${exported}; ${printed(line)}`);
    expect(await typed(/^ {2}(.* freeze .*)$/m)).toMatch(/^frozen: all nodes/);
    await explained("node-b-01", /It has been frozen since .* \(trial\)/);
    expect(await typed(/^ {2}(.* thaw .*)$/m)).toMatch(/^thawed: all nodes/);
    expect(await typed(/^ {2}(.* preview .*)$/m)).toMatch(/^If zone zone-c is down[\s\S]*a grace of 6s/);
  });

  test("repairs everything with one command", TRIED, async () => {
    expect(await type(printed(/^`(.* hollow resume.*)` brings/m))).toMatch(/^resume reached 60 nodes;/);
    await explained("node-b-01", /Node node-b-01 has been ready since/);
    await explained("node-c-01", /Node node-c-01 has been ready since/);
  });
}

/** Copies what is under version control; a folder without history contains only that and what npm installed. */
function copyTo(checkout: string): void {
  mkdirSync(checkout);
  const listed = spawnSync("git", ["ls-files", "-z"], { cwd: ROOT, encoding: "utf8" });
  const what = listed.status === 0 ? ["--null", "--files-from=-"] : ["--exclude=./node_modules", "."];
  const archive = join(checkout, "../vigil.tar");
  execFileSync("tar", ["-cf", archive, "-C", ROOT, ...what], { input: listed.stdout });
  execFileSync("tar", ["-xf", archive, "-C", checkout]);
}

/** An environment without what names this checkout, as `npm run` adds it. */
function ofMachine(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value?.includes(ROOT) === false));
}
