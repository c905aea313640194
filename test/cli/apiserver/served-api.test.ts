/** Shows where the kubeconfig of an embedded API is written, and with which permissions. */
import { readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { serveApi } from "../../../services/cli/apiserver/served-api.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { processFiles } from "../../../services/platform/process/process.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { fakeHost } from "../fake-host.ts";

test("without a path each run writes its kubeconfig to a new private folder", async () => {
  const host = { ...fakeHost(), ...processFiles };
  const values = { listen: "127.0.0.1:0", writeKubeconfig: "" };
  const apiserver = new ApiServer({ clock: realClock(), random: systemRandom });
  const served = [await serveApi(apiserver, values, host), await serveApi(apiserver, values, host)];
  expect(new Set(served.map(({ kubeconfig }) => kubeconfig)).size).toBe(2);
  for (const { front, kubeconfig } of served) {
    expect(statSync(dirname(kubeconfig)).mode & 0o777).toBe(0o700);
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
    expect(readFileSync(kubeconfig, "utf8")).toContain(front.url);
    await front.close();
    rmSync(dirname(kubeconfig), { recursive: true });
  }
});
