/** Upstream's end-to-end specs about NoExecute taints, on a cluster of real kubelets with Vigil on it. */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeProgram } from "../support/kube-assets.ts";
import { KubeletCluster } from "../support/kubelet-cluster.ts";
import { VigilProcess } from "../support/vigil-process.ts";
import { runProgram, type UpstreamRun } from "./test-program.ts";
import { junitCases } from "./verdicts.ts";

/** The specs in two parts, each with a cluster of its own: one after the other they wait for twelve minutes. */
const PARTS = ["NoExecuteTaintManager Single Pod", "NoExecuteTaintManager Multiple Pods"];
const TIMEOUT_MS = 1_200_000;
/** Some specs need two nodes, and one of them is tainted at a time. */
const NODES = ["hollow-1", "hollow-2", "hollow-3"];

/** The programs that the cluster and the specs need. */
export const E2E_PROGRAMS: readonly KubeProgram[] = [
  "kube-controller-manager",
  "kube-scheduler",
  "kubemark",
  "e2e.test",
];

/** Runs the specs while processes of Vigil with these flags run, one for each list; `part` is unique for each cluster. */
export async function runEndToEnd(processesOf: (part: number) => readonly (readonly string[])[]): Promise<UpstreamRun> {
  const runs = await Promise.all(PARTS.map((focus, part) => runPart(focus, processesOf(part))));
  const failed = runs.find(({ code }) => code !== 0);
  const joined = (text: (run: UpstreamRun) => string): string => runs.map(text).join("\n");
  return {
    code: failed === undefined ? 0 : failed.code,
    stdout: joined(({ stdout }) => stdout),
    stderr: joined(({ stderr }) => stderr),
    cases: runs.flatMap(({ cases }) => cases),
  };
}

async function runPart(focus: string, processes: readonly (readonly string[])[]): Promise<UpstreamRun> {
  const cluster = await KubeletCluster.open(NODES);
  const vigils = processes.map(
    (flags) => new VigilProcess(["run", "--log-format=json", `--kubeconfig=${cluster.api.kubeconfig}`, ...flags]),
  );
  try {
    await Promise.all(vigils.map((vigil) => vigil.untilLogged("running")));
    const run = await runSpecs(cluster.api.kubeconfig, focus);
    const logs = [run.stderr, cluster.log(), ...vigils.map(({ err }) => err.slice(-5000))];
    // Without a case nothing was tested, whatever the program says.
    return { ...run, code: run.cases.length === 0 ? null : run.code, stderr: logs.join("\n") };
  } finally {
    for (const vigil of vigils) vigil.signal("SIGKILL");
    await cluster.close();
  }
}

async function runSpecs(kubeconfig: string, focus: string): Promise<UpstreamRun> {
  const reports = await mkdtemp(join(tmpdir(), "e2e-reports-"));
  const args = [
    `-kubeconfig=${kubeconfig}`,
    "-provider=skeleton",
    "-minStartupPods=0",
    `-ginkgo.focus=${focus}`,
    `-report-dir=${reports}`,
  ];
  const ended = await runProgram("e2e.test", args, { env: {}, timeoutMs: TIMEOUT_MS });
  const files = readdirSync(reports).filter((name) => name.endsWith(".xml"));
  const cases = files.flatMap((name) => junitCases(readFileSync(join(reports, name), "utf8"), focus));
  await rm(reports, { recursive: true });
  return { ...ended, cases };
}
