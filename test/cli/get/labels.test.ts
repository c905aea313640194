/** `vigil get --selector`: the API server knows labels, a console the rest. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedApi, serveApi } from "../../../services/cli/apiserver/served-api.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { processFiles } from "../../../services/platform/process/process.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { storedAs } from "../../../services/sandbox/apiserver/resources.ts";
import { consoleThat } from "../console-that.ts";
import { fakeHost } from "../fake-host.ts";

let served: ServedApi;

beforeAll(async () => {
  const api = new ApiServer({ clock: realClock(), random: systemRandom });
  const at = { listen: "127.0.0.1:0", writeKubeconfig: "" };
  served = await serveApi(api, at, { ...fakeHost(), ...processFiles });
  for (const [name, pool] of [
    ["n1", "gpu"],
    ["n2", "web"],
  ] as const) {
    const metadata = { name, labels: { pool } };
    api.registry.create(storedAs("nodes"), "", { apiVersion: "v1", kind: "Node", metadata });
  }
  const metadata = { name: "cart-0", namespace: "default", labels: { app: "cart" } };
  const spec = { nodeName: "n1", containers: [{ name: "c", image: "i" }] };
  api.registry.create(storedAs("pods"), "default", { apiVersion: "v1", kind: "Pod", metadata, spec });
});

afterAll(() => served.front.close());

const nodes = ["n1", "n2"].map((name) => ({ name, readiness: "ready", since: 0, heartbeatAt: 0, zone: "" }));
const next = ["cart-0", "safe-0"].map((name) => ({ namespace: "default", name, uid: name, node: "n1", taint: null }));

async function get(...words: string[]) {
  const host = fakeHost();
  const server = await consoleThat((_, response) => response.end(JSON.stringify({ total: 2, nodes, count: 2, next })));
  const code = await runCommandLine(["get", ...words, server, `--kubeconfig=${served.kubeconfig}`], host);
  return { code, out: host.out(), err: host.err() };
}

test.each([
  [["nodes", "-l", "pool=gpu"], "node/n1\n"],
  [["nodes", "-lpool!=gpu"], "node/n2\n"],
  [["pods", "--selector=app in (cart)"], "pod/default/cart-0\n"],
])("get %j shows the objects with these labels", async (words, out) => {
  expect(await get(...words, "-o", "name")).toEqual({ code: 0, out, err: "" });
});

test("get with a selector that the API server refuses fails with its reason", async () => {
  expect(await get("nodes", "-l", "pool in gpu")).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^vigil: --selector=pool in gpu: .+\n$/),
  });
});
