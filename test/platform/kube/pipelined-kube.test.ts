/** A Kubernetes port whose leases share connections, against a server whose answers a test decides. */
import { afterEach, describe, expect, test } from "vitest";
import { Urgency, type WriteReply } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { type PipelinedKube, pipelinedKube } from "../../../services/platform/kube/pipelined-kube.ts";
import { httpsWire, type SocketWire } from "../../../services/platform/kube/transport/https.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { type LocalServer, localServer } from "./local-server.ts";

const REF = { kind: "Lease", namespace: "kube-node-lease", name: "n-1" } as const;
const OWNED = { name: "n-1", uid: "u-1", resourceVersion: "42", ownerReferences: [{ kind: "Node" }] };

let server: LocalServer;
let wire: SocketWire;
let pipelined: PipelinedKube;

async function serve(status: number, body: unknown): Promise<void> {
  server = await localServer((_request, response) => response.writeHead(status).end(JSON.stringify(body)));
  const options = { server: server.url, authorize: () => Promise.resolve({ headers: {}, tls: {} }) };
  wire = httpsWire(options);
  const clock = realClock();
  const io = { clock, random: systemRandom, log: silentLog, metrics: createMetrics(), profile: STANDARD_PROFILE };
  pipelined = pipelinedKube(createKube({ ...io, wire }), options, clock);
}

const renewed = (isVersionEnough: boolean): Promise<WriteReply> =>
  new Promise((resolve) => {
    const request = { ref: REF, urgency: Urgency.healing, verb: "update", body: {}, isVersionEnough } as const;
    pipelined.kube.write(request, resolve);
  });

afterEach(async () => {
  pipelined.close();
  wire.close();
  await server.close();
});

describe("the reply to a renewal", () => {
  test("is the version where that is enough, else the object", async () => {
    await serve(200, { kind: "Lease", apiVersion: "coordination.k8s.io/v1", metadata: OWNED });
    const short = { metadata: { name: "n-1", resourceVersion: "42" } };
    expect(await renewed(true)).toEqual({ outcome: "ok", object: short });
    expect(await renewed(false)).toMatchObject({ outcome: "ok", object: { metadata: OWNED } });
  });

  test.each([
    { annotations: { resourceVersion: "7" }, ...OWNED },
    { ...OWNED, name: 'n-"resourceVersion":"7"' },
    { name: "n-1", resourceVersion: "v42" },
  ])("has the version of the object and no other: %j", async (metadata) => {
    await serve(200, { kind: "Lease", metadata });
    expect(await renewed(true)).toEqual({ outcome: "ok", object: { kind: "Lease", metadata } });
  });

  test("to one that is refused says why", async () => {
    await serve(409, { kind: "Status", reason: "Conflict", message: "it has changed", resourceVersion: "7" });
    expect(await renewed(true)).toMatchObject({ outcome: "conflict", detail: "409: it has changed" });
  });
});
