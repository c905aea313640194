/** `vigil freeze` and `vigil thaw` on an API server over HTTP. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { type ServedApi, serveApi } from "../../../services/cli/served-api.ts";
import { freezeVerb, thawVerb } from "../../../services/cli/verbs/freeze.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { thisProcess } from "../../../services/platform/process/process.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { fakeHost } from "../fake-host.ts";

let served: ServedApi;
let api: ApiServer;

beforeEach(async () => {
  api = new ApiServer({ clock: realClock(), random: systemRandom });
  const values = { listen: "127.0.0.1:0", writeKubeconfig: "" };
  served = await serveApi(api, values, { ...thisProcess(), stopped: fakeHost().stopped });
});
afterEach(() => served.front.close());

/** One command line, with its exit code and its output; what it warns of comes after what it prints. */
async function vigil(...words: string[]): Promise<string> {
  const host = fakeHost();
  const code = await runCommandLine([...words, `--kubeconfig=${served.kubeconfig}`], host);
  return `${host.out()}${host.err()}${code}`;
}

const WHERE = `(ConfigMap ${FREEZE_CONFIG_MAP.namespace}/${FREEZE_CONFIG_MAP.name})`;

test("freezing and thawing all nodes is one command each, to the API server alone", async () => {
  expect(await vigil("freeze", "--all", "--for=2h", "--reason=outage", "--by=oncall")).toMatch(
    /^frozen: all nodes until \S+Z \(ConfigMap kube-system\/vigil-freeze\)\n0$/,
  );
  expect(await vigil("thaw", "--all")).toBe(`thawed: all nodes ${WHERE}\n0`);
  expect(await vigil("thaw", "--all")).toBe(`nothing freezes all nodes ${WHERE}\n0`);
});

test("a freeze that the policy service would refuse fails", async () => {
  expect(await vigil("freeze", "--all", `--reason=${"x".repeat(1025)}`)).toBe(
    "vigil: freeze: --reason: has more than 1024 characters\n2",
  );
  expect(await vigil("freeze", "--all", "--by=")).toBe(
    'vigil: freeze: --by: "": write who pauses it, such as oncall\n2',
  );
  expect(await vigil("thaw", "--all")).toBe(`nothing freezes all nodes ${WHERE}\n0`);
});

test("a freeze of a policy without an object says when it has an effect", async () => {
  expect(await vigil("freeze", "--policy=gpuu")).toBe(
    `frozen: the nodes of policy gpuu ${WHERE}\n` +
      "vigil: there is no NodePolicy gpuu: the freeze takes effect where policies: of --config has one of this name\n0",
  );
});

test("a scope has to be named", async () => {
  await expect(freezeVerb.start([], fakeHost())).rejects.toThrow("freeze: name --policy=NAME or --all");
  await expect(thawVerb.start(["--all", "--policy=gpu"], fakeHost())).rejects.toThrow("and not both");
});
