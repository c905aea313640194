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

async function runIntegration(program: KubeProgram, ...args: string[]): Promise<UpstreamRun> {
  const env = {
    VIGIL: `${process.execPath} services/main.ts run`,
    VIGIL_DIR: ROOT,
    PATH: `${dirname(kubeProgram("etcd"))}:${process.env.PATH}`,
  };
  const ended = await runProgram(program, ["-test.v", ...args], { env, timeoutMs: TIMEOUT_MS });
  return { ...ended, cases: goTestCases(ended.stdout) };
}

describeUpstream("node.test", ["node.test"], () => runIntegration("node.test"));
describeUpstream("scheduler.test", ["scheduler.test"], () =>
  runIntegration("scheduler.test", "-test.run", "TestTaintNodeByCondition"),
);
