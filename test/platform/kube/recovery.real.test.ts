/** The Kubernetes port against a real API server that refuses, dies, freezes and returns. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Kube, type ObjectRef, Urgency } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { checkServer, type ServerProblem } from "../../../services/platform/kube/auth/access-check.ts";
import { type KubeConnection, loadKubeConfig } from "../../../services/platform/kube/auth/kubeconfig.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { type KubeApiserver, startKubeApiserver } from "../../support/kube-apiserver.ts";
import { describeWithKube } from "../../support/kube-assets.ts";
import { read, type Seen, seeNodes, write } from "../../support/kube-probe.ts";
import { until } from "../../support/until.ts";

const clock = realClock();
const node = (name: string): ObjectRef => ({ kind: "Node", namespace: "", name });

describeWithKube("a real API server that", () => {
  let server: KubeApiserver;
  let connection: KubeConnection;
  let kube: Kube;
  let nodes: Seen<"nodes">;

  beforeAll(async () => {
    server = await startKubeApiserver();
    connection = await loadKubeConfig({ kubeconfig: server.kubeconfig });
    kube = createKube({
      wire: connection.wire,
      clock,
      random: systemRandom,
      log: silentLog,
      metrics: createMetrics(),
      profile: STANDARD_PROFILE,
    });
    nodes = seeNodes(kube);
    await until("the nodes are synced", () => nodes.watch.state().synced);
  });
  afterAll(async () => {
    nodes.watch.stop();
    connection.wire.close();
    await server.stop();
  });

  const create = (name: string) =>
    write(kube, { ref: node(name), urgency: Urgency.status, verb: "create", body: { metadata: { name } } });
  const problemFor = async (token: string): Promise<ServerProblem | null> => {
    const { wire, server: url } = await loadKubeConfig({ kubeconfig: server.kubeconfigFor(token) });
    const problem = await checkServer({ wire, clock }, url);
    wire.close();
    return problem;
  };

  test("accepts us is no problem; a refusal is reported in one line", async () => {
    expect(await problemFor(server.adminToken)).toBeNull();
    expect(await problemFor("wrong")).toEqual({
      message: `the API server ${server.url} does not accept our credentials: 401: Unauthorized`,
      final: true,
    });
    expect(await problemFor(server.strangerToken)).toEqual({
      message: expect.stringMatching(/does not let us list nodes: 403: nodes is forbidden/),
      final: true,
    });
  });

  test("is killed fails writes, is unreachable, and is synced again after its start", async () => {
    await server.kill();
    await until("the loss is noticed", () => !nodes.watch.state().synced);
    expect(await create("never")).toMatchObject({ outcome: "failed", detail: expect.stringContaining("ECONNREFUSED") });
    expect(await problemFor(server.adminToken)).toEqual({
      message: expect.stringMatching(`^cannot reach the API server: ${server.url}: connect ECONNREFUSED`),
      final: false,
    });
    await server.start();
    expect((await create("after-the-start")).outcome).toBe("ok");
    await until("the new node is seen", () => nodes.present.has("after-the-start"));
    await until("the nodes are synced", () => nodes.watch.state().synced);
  });

  test("freezes fails a read in time and a write as unknown, and both work when it thaws", async () => {
    expect((await create("there")).outcome).toBe("ok");
    server.pause();
    const [reading, writing] = await Promise.all([read(kube, node("there")), create("frozen")]);
    expect(reading).toEqual({ outcome: "failed", detail: "no answer within 10000 ms" });
    expect(writing).toEqual({ outcome: "unknown", detail: "no answer within 15000 ms" });
    server.resume();
    expect((await read(kube, node("there"))).outcome).toBe("ok");
    expect(["ok", "exists"]).toContain((await create("frozen")).outcome);
  });
});
