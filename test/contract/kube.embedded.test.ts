/** The contract of the Kubernetes API, on the embedded one: by function call, and through its HTTP front. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { httpsWire, type SocketWire } from "../../services/platform/kube/transport/https.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { FaultyApiServer } from "../support/faulty-apiserver.ts";
import { kubectl, writeKubeconfig } from "../support/kubectl.ts";
import { seededRandom } from "../support/random.seeded.ts";
import { addressContract, kubeContract } from "./kube.contract.ts";

const ADMIN_TOKEN = "admin-token";
const BOOKMARK_PERIOD_MS = 500;

function embedded(): FaultyApiServer {
  return new FaultyApiServer({ clock: realClock(), random: seededRandom(1), bookmarkPeriodMs: BOOKMARK_PERIOD_MS });
}

describe("the embedded API, by function call", () => {
  kubeContract(() => {
    const server = embedded();
    return Promise.resolve({
      wire: server.wire,
      compact: () => Promise.resolve(server.faults.compact()),
      stop: () => Promise.resolve(),
    });
  });
});

describe("the embedded API, through its HTTP front", () => {
  kubeContract(async () => {
    const server = embedded();
    const folder = mkdtempSync(join(tmpdir(), "embedded-"));
    const front = await listen(server, { port: 0, token: ADMIN_TOKEN });
    const wires: SocketWire[] = [];
    const wireWith = (token: string): SocketWire => {
      const headers = { authorization: `Bearer ${token}` };
      const wire = httpsWire({ server: front.url, authorize: () => Promise.resolve({ headers, tls: {} }) });
      wires.push(wire);
      return wire;
    };
    // kubectl sends no token over a connection without TLS, so it gets a port that requires none.
    const open = await listen(server, { port: 0 });
    const kubeconfig = writeKubeconfig(join(folder, "kubeconfig"), { server: open.url, token: "" });
    return {
      wire: wireWith(ADMIN_TOKEN),
      wireWith,
      compact: () => Promise.resolve(server.faults.compact()),
      kubectl: (...args: string[]) => kubectl(kubeconfig, args),
      stop: async () => {
        for (const wire of wires) wire.close();
        await front.close();
        await open.close();
        rmSync(folder, { recursive: true });
      },
    };
  }, addressContract);
});
