/** `vigil freeze` and `vigil thaw` on an API server over HTTP. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nodePolicyDefinition } from "../../../deploy/crd/node-policy-crd.ts";
import { FREEZE_CONFIG_MAP } from "../../../protocols/names.ts";
import { NODE_POLICY_API } from "../../../protocols/node-policy.ts";
import { type ServedApi, serveApi } from "../../../services/cli/apiserver/served-api.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { freezeVerb, thawVerb } from "../../../services/cli/verbs/freeze.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { processFiles } from "../../../services/platform/process/process.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { storedAs } from "../../../services/sandbox/apiserver/resources.ts";
import { fakeHost } from "../fake-host.ts";

let served: ServedApi;
let api: ApiServer;

beforeEach(async () => {
  api = new ApiServer({ clock: realClock(), random: systemRandom });
  const values = { listen: "127.0.0.1:0", writeKubeconfig: "" };
  served = await serveApi(api, values, { ...fakeHost(), ...processFiles });
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
  expect(await vigil("thaw", "--all")).toBe(`no request freezes all nodes ${WHERE}\n0`);
});

test("a freeze that the policy service would refuse fails", async () => {
  expect(await vigil("freeze", "--all", `--reason=${"x".repeat(1025)}`)).toBe(
    "vigil: freeze: --reason: has more than 1024 characters\n2",
  );
  expect(await vigil("freeze", "--all", "--by=")).toBe(
    'vigil: freeze: --by: "": write who pauses it, such as oncall\n2',
  );
  expect(await vigil("thaw", "--all")).toBe(`no request freezes all nodes ${WHERE}\n0`);
});

test("a freeze of a policy without an object says when it has an effect", async () => {
  expect(await vigil("freeze", "--policy=gpuu")).toBe(
    `frozen: the nodes of policy gpuu ${WHERE}\n` +
      "vigil: there is no NodePolicy gpuu: the freeze takes effect where policies: of --config has one of this name\n0",
  );
});

test.each(["gpu,spot", "GPU", "a/b", "x".repeat(64)])(
  "a freeze of %j, which names no policy, is refused",
  async (name) => {
    expect(await vigil("freeze", `--policy=${name}`)).toBe(
      `vigil: freeze: --policy=${name}: no policy has such a name; write that of one policy, such as gpu\n2`,
    );
  },
);

test("a thaw of a policy without an object says what it cannot know", async () => {
  expect(await vigil("thaw", "--policy=gpuu")).toBe(
    `no request freezes the nodes of policy gpuu ${WHERE}\n` +
      "vigil: there is no NodePolicy gpuu: one of --config may freeze its nodes by its mode\n0",
  );
});

/** Applies a NodePolicy over HTTP. */
async function apply(name: string, spec: object): Promise<string> {
  const server = /server: "?([^"\s]+)/.exec(readFileSync(served.kubeconfig, "utf8"))?.[1] ?? "";
  const apiVersion = `${NODE_POLICY_API.group}/${NODE_POLICY_API.version}`;
  const body = JSON.stringify({ apiVersion, kind: NODE_POLICY_API.kind, metadata: { name }, spec });
  const headers = { "content-type": "application/json" };
  const path = `/apis/${apiVersion}/${NODE_POLICY_API.plural}`;
  expect((await fetch(`${server}${path}`, { method: "POST", headers, body })).status).toBe(201);
  return `${server}${path}/${name}`;
}

test("a freeze of a policy that applies to no node says so", async () => {
  api.registry.create(storedAs("customresourcedefinitions"), "", nodePolicyDefinition() as never);
  const url = await apply("gpu", { selector: { matchLabels: { "no key": "gpu" } } });
  const why = { reason: "Refused", message: "no key", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const status = { conditions: [{ type: "Ready", status: "False", ...why }] };
  const headers = { "content-type": "application/merge-patch+json" };
  const patched = await fetch(`${url}/status`, { method: "PATCH", headers, body: JSON.stringify({ status }) });
  expect(patched.status).toBe(200);
  expect(await vigil("freeze", "--policy=gpu")).toBe(
    "frozen: the nodes of policy gpu (NodePolicy gpu)\n" +
      "vigil: NodePolicy gpu applies to no node, as its conditions say: " +
      "the freeze takes effect where policies: of --config has one of this name\n0",
  );
});

describe("with NodePolicies, a thaw", () => {
  const selector = { matchLabels: { pool: "gpu" } };
  const THAWED = "thawed: the nodes of policy gpu";

  beforeEach(() => {
    api.registry.create(storedAs("customresourcedefinitions"), "", nodePolicyDefinition() as never);
  });

  test("ends the requests of the object", async () => {
    await apply("gpu", { selector });
    expect(await vigil("freeze", "--policy=gpu")).toBe("frozen: the nodes of policy gpu (NodePolicy gpu)\n0");
    expect(await vigil("thaw", "--policy=gpu")).toBe(`${THAWED} (NodePolicy gpu)\n0`);
    expect(await vigil("thaw", "--policy=gpu")).toBe("no request freezes the nodes of policy gpu (NodePolicy gpu)\n0");
  });

  test("ends those from when it was one of --config too", async () => {
    await vigil("freeze", "--policy=gpu");
    await apply("gpu", { selector });
    expect(await vigil("thaw", "--policy=gpu")).toBe(`${THAWED} ${WHERE}\n0`);
  });

  test("concludes nothing from requests that it cannot read", async () => {
    await apply("gpu", { selector });
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name } };
    api.registry.create(storedAs("configmaps"), namespace, { ...configMap, data: { pauseRequests: "[{" } } as never);
    expect(await vigil("thaw", "--policy=gpu")).toMatch(/^vigil: requests in \S+ \S+ may go on: .*\n0$/);
  });

  test("does not call nodes frozen that will be", async () => {
    await apply("gpu", { selector });
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name } };
    const data = { pauseRequests: '[{"name": "oncall", "since": "2999-01-01T00:00:00Z"}]' };
    api.registry.create(storedAs("configmaps"), namespace, { ...configMap, data } as never);
    expect(await vigil("thaw", "--policy=gpu")).toBe("no request freezes the nodes of policy gpu (NodePolicy gpu)\n0");
  });

  test("says what still freezes the nodes", async () => {
    await apply("gpu", { selector, mode: "Freeze" });
    await vigil("freeze", "--all");
    const mode = "NodePolicy gpu has mode: Freeze, which freezes its nodes until you change it\n";
    expect(await vigil("thaw", "--policy=gpu")).toBe(`${mode}all nodes are frozen: vigil thaw --all\n0`);
    await vigil("thaw", "--all");
    await vigil("freeze", "--policy=gpu");
    expect(await vigil("thaw", "--policy=gpu")).toBe(`${THAWED} (NodePolicy gpu)\n${mode}0`);
  });
});

test("a scope has to be named", async () => {
  await expect(freezeVerb.start([], fakeHost())).rejects.toThrow("freeze: name --policy=NAME or --all");
  await expect(thawVerb.start(["--all", "--policy=gpu"], fakeHost())).rejects.toThrow("and not both");
});
