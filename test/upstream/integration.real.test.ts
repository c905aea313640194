/**
 * Upstream's integration tests of the node lifecycle controller and of node taints. They run an API server of their
 * own, and start Vigil where they would start upstream's controller.
 */
import { dirname, join } from "node:path";
import { type KubeProgram, kubeProgram } from "../support/kube-assets.ts";
import { describeUpstream, runProgram, type UpstreamRun } from "./test-program.ts";
import { goTestCases } from "./verdicts.ts";

const ROOT = join(import.meta.dirname, "../..");
const TIMEOUT_MS = 300_000;
/** A program looks for a free port and starts its etcd there a moment later, when another suite may have taken it. */
const STARTS_MAX = 3;

async function runIntegration(program: KubeProgram, ...args: string[]): Promise<UpstreamRun> {
  const env = {
    VIGIL: `${process.execPath} services/vigil.js run`,
    VIGIL_DIR: ROOT,
    PATH: `${dirname(kubeProgram("etcd"))}:${process.env.PATH}`,
  };
  for (let starts = 1; ; starts++) {
    const ended = await runProgram(program, ["-test.v", ...args], { env, timeoutMs: TIMEOUT_MS });
    const cases = goTestCases(ended.stdout);
    const hasNoPort = cases.length === 0 && `${ended.stdout}${ended.stderr}`.includes("bind: address already in use");
    if (!hasNoPort || starts === STARTS_MAX) return { ...ended, cases };
  }
}

describeUpstream("node.test", ["node.test"], () => runIntegration("node.test"));
describeUpstream("scheduler.test", ["scheduler.test"], () =>
  runIntegration("scheduler.test", "-test.run", "TestTaintNodeByCondition"),
);
