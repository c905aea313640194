/** `vigil run` whose cluster is made again under the same address: a real process on NATS and the embedded API. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { freePort, startNatsServer } from "../support/nats-server.ts";
import { VigilProcess } from "../support/vigil-process.ts";

const newApi = () => new ApiServer({ clock: realClock(), random: systemRandom });
const uidOf = (api: ApiServer) => api.store.collection("namespaces").get("", "kube-system")?.uid;

describeWithNats("a process that has outlived its cluster", () => {
  test("ends with 1 and one line that names both", async () => {
    const folder = mkdtempSync(join(tmpdir(), "vigil-outlived-"));
    const [port, before, after] = [await freePort(), newApi(), newApi()];
    const nats = await startNatsServer();
    const first = await listen(before, { port });
    writeFileSync(join(folder, "kubeconfig"), kubeconfigOf("c", first.url));
    const flags = [`--kubeconfig=${join(folder, "kubeconfig")}`, `--nats=${nats.url}`, "--log-format=json"];
    const vigil = new VigilProcess(["run", ...flags]);
    await vigil.untilLogged("running");
    await first.close();
    const second = await listen(after, { port });
    expect(await vigil.exited()).toBe(1);
    const lines = vigil.err.trimEnd().split("\n");
    expect(lines.filter((line) => !line.startsWith("{"))).toEqual([
      `vigil: the API server serves another Kubernetes cluster than before (its kube-system has uid ${uidOf(after)}, ` +
        `before it was ${uidOf(before)}): restart this process to run there`,
    ]);
    await second.close();
    await nats.stop();
    rmSync(folder, { recursive: true });
  });
});
