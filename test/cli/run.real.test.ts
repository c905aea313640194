/** Runs `vigil run` against a real kube-apiserver, with and without sufficient credentials and rights. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KubeApiserver, startKubeApiserver } from "../support/kube-apiserver.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { writeKubeconfig } from "../support/kubectl.ts";
import { VigilProcess } from "../support/vigil-process.ts";

describeWithKube("vigil run on a real API server", () => {
  let server: KubeApiserver;
  beforeAll(async () => {
    server = await startKubeApiserver();
  });
  afterAll(() => server.stop());

  const run = (kubeconfig: string) => new VigilProcess(["run", "--log-format=json", `--kubeconfig=${kubeconfig}`]);
  const refusal = async (kubeconfig: string): Promise<string> => {
    const vigil = run(kubeconfig);
    expect(await vigil.exited()).toBe(1);
    expect(vigil.err).toMatch(/^vigil: .+\n$/);
    return vigil.err;
  };

  test("starts with sufficient rights, and exits with 0", async () => {
    const vigil = run(server.kubeconfig);
    await vigil.untilLogged("running");
    vigil.signal("SIGTERM");
    expect(await vigil.exited()).toBe(0);
  });

  test("does not start with an unknown token", async () => {
    expect(await refusal(server.kubeconfigFor("no-such-token"))).toContain("does not accept our credentials: 401");
  });

  test("does not start without the right to list nodes", async () => {
    const refused = await refusal(server.kubeconfigFor(server.strangerToken));
    expect(refused).toContain('does not let us list nodes: 403: nodes is forbidden: User "stranger"');
  });

  test("does not start on a server with an untrusted certificate", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "vigil-untrusted-")), "kubeconfig");
    writeKubeconfig(file, { server: server.url, token: server.adminToken });
    expect(await refusal(file)).toMatch(/cannot reach the API server: .*certificate/);
  });
});
