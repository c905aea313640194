/** kubectl as a test runs it, and the kubeconfigs it needs. It starts no server. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubeProgram } from "./kube-assets.ts";

/** The result of kubectl. */
export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The user and the server. */
export interface KubeconfigContents {
  readonly server: string;
  readonly token: string;
  /** Path of the server's certificate authority; none for plain HTTP. */
  readonly caFile?: string;
}

/** Writes a kubeconfig and returns its path. */
export function writeKubeconfig(file: string, { server, token, caFile }: KubeconfigContents): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "test",
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    clusters: [{ name: "test", cluster: { server, "certificate-authority": caFile } }],
    users: [{ name: "test", user: { token } }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/** Runs kubectl with a kubeconfig. */
export function kubectl(kubeconfig: string, args: readonly string[]): Promise<KubectlResult> {
  const home = mkdtempSync(join(tmpdir(), "kubectl-"));
  return new Promise((resolve) => {
    const options = { env: { ...process.env, HOME: home, KUBECONFIG: kubeconfig }, timeout: 60_000 };
    execFile(kubeProgram("kubectl"), [...args], options, (error, stdout, stderr) => {
      rmSync(home, { recursive: true, force: true });
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });
}
