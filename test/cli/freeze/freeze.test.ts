/** `vigil freeze` and `vigil thaw` on an API server over HTTP. */
import { expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { serveApi } from "../../../services/cli/served-api.ts";
import { freezeVerb, thawVerb } from "../../../services/cli/verbs/freeze.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { thisProcess } from "../../../services/platform/process/process.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { fakeHost } from "../fake-host.ts";

test("freezing and thawing all nodes is one command each, to the API server alone", async () => {
  const api = new ApiServer({ clock: realClock(), random: systemRandom });
  const host = fakeHost();
  const values = { listen: "127.0.0.1:0", writeKubeconfig: "" };
  const served = await serveApi(api, values, { ...thisProcess(), stopped: host.stopped });
  const flags = ["--all", `--kubeconfig=${served.kubeconfig}`];
  try {
    expect(await freezeVerb.start([...flags, "--for=2h", "--reason=outage", "--by=oncall"], host)).toBe(0);
    expect(await thawVerb.start(flags, host)).toBe(0);
    expect(await thawVerb.start(flags, host)).toBe(0);
    const where = `(ConfigMap ${FREEZE_CONFIG_MAP.namespace}/${FREEZE_CONFIG_MAP.name})`;
    expect(host.out().split("\n")).toEqual([
      expect.stringMatching(/^frozen: all nodes until \S+Z \(ConfigMap kube-system\/vigil-freeze\)$/),
      `thawed: all nodes ${where}`,
      `nothing freezes all nodes ${where}`,
      "",
    ]);
  } finally {
    await served.front.close();
  }
});

test("a scope has to be named", async () => {
  await expect(freezeVerb.start([], fakeHost())).rejects.toThrow("freeze: name --policy=NAME or --all");
  await expect(thawVerb.start(["--all", "--policy=gpu"], fakeHost())).rejects.toThrow("and not both");
});
