/** `vigil prove-down` on an API server over HTTP: what it refuses, what it records, and by whom. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type ServedApi, serveApi } from "../../../services/cli/apiserver/served-api.ts";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import { userName } from "../../../services/cli/prove-down/user-name.ts";
import { apiMicroTime, apiTime } from "../../../services/domain/api-time.ts";
import { readDownProof } from "../../../services/domain/down-proof.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { processFiles } from "../../../services/platform/process/process.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { fakeHost } from "../fake-host.ts";

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
let served: ServedApi;

beforeAll(async () => {
  const api = new ApiServer({ clock: realClock(), random: systemRandom });
  const values = { listen: "127.0.0.1:0", writeKubeconfig: "" };
  served = await serveApi(api, values, { ...fakeHost(), ...processFiles });
});

afterAll(() => served.front.close());

async function send(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const init = {
    method,
    headers: { "content-type": type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  const response = await fetch(`${served.front.url}${path}`, init);
  return (await response.json()) as Record<string, unknown>;
}

/** Registers worker-7, found silent two minutes ago; its lease was renewed this many seconds ago. */
async function register(ready = "Unknown", renewedSeconds = 180): Promise<void> {
  const at = Date.now();
  await send("DELETE", "/api/v1/nodes/worker-7");
  await send("DELETE", `${LEASES}/worker-7`);
  const conditions = [{ type: "Ready", status: ready, lastTransitionTime: apiTime(at - 120_000) }];
  await send("POST", "/api/v1/nodes", { metadata: { name: "worker-7" }, status: { conditions } });
  await send("PATCH", "/api/v1/nodes/worker-7/status", { status: { conditions } });
  const spec = { holderIdentity: "worker-7", renewTime: apiMicroTime(at - renewedSeconds * 1000) };
  await send("POST", LEASES, { metadata: { name: "worker-7" }, spec });
}

async function proof(): Promise<ReturnType<typeof readDownProof>> {
  const { metadata } = await send("GET", "/api/v1/nodes/worker-7");
  const { annotations = {} } = metadata as { annotations?: Record<string, string> };
  return readDownProof(annotations["vigil.v1/proved-down"] ?? "");
}

async function vigil(...words: string[]) {
  const host = fakeHost();
  const code = await runCommandLine(["prove-down", ...words, `--kubeconfig=${served.kubeconfig}`], host);
  return { code, out: host.out(), err: host.err() };
}

beforeEach(() => register());

test("a proof is recorded with who, when and why, and withdrawn", async () => {
  const { code, out } = await vigil("worker-7", "--reason=power off", "--by=oncall");
  expect(code).toBe(0);
  expect(out).toMatch(/^proved down: node worker-7 at \S+Z by oncall: power off\n$/);
  expect(await proof()).toMatchObject({ proof: "Manual", by: "oncall", reason: "power off", at: expect.any(Number) });
  expect((await vigil("worker-7", "--withdraw")).out).toBe("withdrawn: node worker-7 is not proved down\n");
  expect(await proof()).toBeNull();
  expect((await vigil("worker-7", "--withdraw")).out).toBe("node worker-7 was not proved down\n");
});

test.each([
  ["True", 180, "node worker-7 is alive: its Ready condition is True"],
  ["Unknown", 10, "node worker-7 is alive: its kubelet renewed its lease"],
  ["False", 180, "node worker-7 is not found silent yet: its Ready condition is False"],
])("a node with Ready=%s and a lease of %d s ago is refused in one line", async (ready, seconds, problem) => {
  await register(ready, seconds);
  const { code, err } = await vigil("worker-7", "--reason=power off");
  expect([code, err.split("\n").length]).toEqual([1, 2]);
  expect(err).toContain(`vigil: ${problem}`);
  expect(await proof()).toBeNull();
});

test.each([
  [["worker-9", "--reason=x"], 1, "node worker-9: not found"],
  [["--reason=x"], 2, "prove-down: name a node"],
  [["worker-7"], 2, "prove-down worker-7: give --reason='how you know that its machine is off'"],
  [["worker-7", "worker-8", "--reason=x"], 2, "prove-down worker-7 worker-8: name one node"],
  [["worker-7", "--withdraw", "--reason=x"], 2, "prove-down worker-7: --withdraw takes no --reason"],
  [["worker-7", `--reason=${"x".repeat(257)}`], 2, "--reason: must be at most 256 characters"],
])("%j is refused", async (words, code, problem) => {
  expect(await vigil(...words)).toEqual({ code, out: "", err: expect.stringContaining(`vigil: ${problem}`) });
});

test.each([
  [201, { status: { userInfo: { username: "alice" } } }, "alice"],
  [404, { kind: "Status", code: 404 }, null],
  [201, { status: {} }, null],
])("the API server's answer %d names its user", async (status, body, name) => {
  const wire = {
    send: (_request: unknown, exchange: Parameters<Parameters<typeof userName>[0]["wire"]["send"]>[1]) => {
      setImmediate(() => {
        exchange.response(status, {});
        exchange.data(Buffer.from(JSON.stringify(body)));
        exchange.end();
      });
      return { abort() {} };
    },
  };
  expect(await userName({ wire, clock: realClock() })).toBe(name);
});
