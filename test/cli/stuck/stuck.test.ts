/** `vigil get stuck` on an API server over HTTP. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedApi, serveApi } from "../../../services/cli/apiserver/served-api.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { processFiles } from "../../../services/platform/process/process.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { fakeHost } from "../fake-host.ts";

let served: ServedApi;

beforeAll(async () => {
  const api = new ApiServer({ clock: realClock(), random: systemRandom });
  const values = { listen: "127.0.0.1:0", writeKubeconfig: "" };
  served = await serveApi(api, values, { ...fakeHost(), ...processFiles });
});

afterAll(() => served.front.close());

async function send(method: string, path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${served.front.url}${path}`, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
}

async function getStuck(...flags: string[]) {
  const host = fakeHost();
  const code = await runCommandLine(["get", "stuck", `--kubeconfig=${served.kubeconfig}`, ...flags], host);
  return { code, out: host.out(), err: host.err() };
}

test("no stuck pods are said to be none, and of one it says what holds it", async () => {
  expect(await getStuck()).toEqual({
    code: 0,
    out: "NAMESPACE   POD   NODE   NODE STATE   STUCK FOR   HELD BY\n",
    err: "vigil: there are no stuck pods: none is Terminating past its grace on a node that is not Ready or gone\n",
  });
  const metadata = { name: "cart-0", namespace: "default", finalizers: ["example.com/guard"] };
  const spec = { nodeName: "worker-7", containers: [{ name: "c", image: "i" }] };
  await send("POST", "/api/v1/namespaces/default/pods", { apiVersion: "v1", kind: "Pod", metadata, spec });
  await send("DELETE", "/api/v1/namespaces/default/pods/cart-0", { gracePeriodSeconds: 0 });
  const { out } = await getStuck("-o", "json");
  expect(JSON.parse(out).items).toMatchObject([
    { name: "cart-0", nodeState: "Gone", heldBy: [{ kind: "Finalizer", name: "example.com/guard" }] },
  ]);
  expect(await getStuck("cart-0", "cart-1", "-o", "name")).toEqual({
    code: 1,
    out: "pod/default/cart-0\n",
    err: "vigil: pod cart-1: not stuck\n",
  });
  expect((await getStuck("-o", "name")).out).toBe("pod/default/cart-0\n");
  expect((await getStuck("-o", "wide")).out).toContain("the controller of the finalizer, which removes it");
});

test.each([
  [["get", "stuck", "--server=http://x"], "get stuck --server=http://x: only get zones, get nodes, get policies,"],
  [["get", "zones", "--kubeconfig=x"], "get zones --kubeconfig=x: only get stuck takes it"],
  [["get", "stuk"], "get stuk: did you mean get stuck?"],
])("%j is refused with one line", async (words, problem) => {
  const host = fakeHost();
  expect(await runCommandLine(words, host)).toBe(2);
  expect(host.err()).toContain(`vigil: ${problem}`);
});
