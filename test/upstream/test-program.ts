/**
 * Upstream's compiled tests as suites of this repository. A program runs to its end while its suite is collected,
 * because only then are its cases known; each case becomes one test with upstream's name and verdict.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWithKube, type KubeProgram, kubeProgram } from "../support/kube-assets.ts";
import { spawnWithTest } from "../support/server-process.ts";
import type { UpstreamCase } from "./verdicts.ts";

/** How much of a program's log is in the message of a failure. */
const LOG_CHARACTERS_MAX = 20_000;

/** What is left of a program that has ended. */
export interface ProgramRun {
  /** Exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A run and the cases that were read from it. */
export interface UpstreamRun extends ProgramRun {
  readonly cases: readonly UpstreamCase[];
}

/** Runs a program in a working folder of its own, and kills it with all that it started after `timeoutMs`. */
export async function runProgram(
  program: KubeProgram,
  args: readonly string[],
  { env, timeoutMs }: { readonly env: Readonly<Record<string, string>>; readonly timeoutMs: number },
): Promise<ProgramRun> {
  const folder = mkdtempSync(join(tmpdir(), `${program}-`));
  const place = { env: { ...env, TMPDIR: folder }, cwd: folder, detached: true };
  const child = spawnWithTest(kubeProgram(program), args, place);
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} did not start`);
  const timeout = setTimeout(() => process.kill(-pid, "SIGKILL"), timeoutMs);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(-LOG_CHARACTERS_MAX);
  });
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timeout);
  rmSync(folder, { recursive: true, force: true });
  return { code, stdout, stderr };
}

/**
 * A suite with one test for each case of an upstream program, and one more that fails if the program ends with a
 * failure that no case accounts for. `programs` are all that `run` needs.
 */
export function describeUpstream(
  name: string,
  programs: readonly KubeProgram[],
  run: () => Promise<UpstreamRun>,
): void {
  const suite = async () => {
    const { cases, code, stdout, stderr } = await run();
    const log = () => `${stdout.slice(-LOG_CHARACTERS_MAX)}\n${stderr}`;
    for (const { name: caseName, verdict, detail } of cases) {
      test.skipIf(verdict === "skipped")(caseName, () => {
        if (verdict === "failed") expect.fail(`${detail}\n${log()}`);
      });
    }
    const isExplained = cases.length > 0 && (code === 0 || cases.some(({ verdict }) => verdict === "failed"));
    if (!isExplained) test("the program runs its cases", () => expect.fail(`it ended with ${code}\n${log()}`));
  };
  describeWithKube(name, suite, programs);
}
