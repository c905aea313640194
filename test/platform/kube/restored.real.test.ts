/** The Kubernetes port against a real API server whose etcd is restored from an older backup. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Kube, type ObjectRef, Urgency } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { systemRandom } from "../../../services/platform/process/random.ts";
import { type KubeApiserver, startKubeApiserver } from "../../support/kube-apiserver.ts";
import { describeWithKube } from "../../support/kube-assets.ts";
import { type Seen, seeNodes, write } from "../../support/kube-probe.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { until } from "../../support/until.ts";

const urgency = Urgency.status;
const node = (name: string): ObjectRef => ({ kind: "Node", namespace: "", name });
/** Less than the three minutes after which an open and silent watch is verified. */
const WITHIN = { withinMs: 50_000 };

describeWithKube("etcd of a real API server is restored", () => {
  let server: KubeApiserver;
  let kube: Kube;
  let nodes: Seen<"nodes">;
  const log = recordingLog();

  beforeAll(async () => {
    server = await startKubeApiserver();
    const io = { clock: realClock(), random: systemRandom, log, metrics: createMetrics() };
    kube = createKube({ ...io, wire: server.wire(), profile: STANDARD_PROFILE });
    nodes = seeNodes(kube);
    await until("the nodes are synced", () => nodes.watch.state().synced);
  });
  afterAll(async () => {
    nodes.watch.stop();
    await server.stop();
  });

  const create = async (name: string): Promise<void> => {
    const { outcome } = await write(kube, { ref: node(name), urgency, verb: "create", body: { metadata: { name } } });
    expect(outcome).toBe("ok");
    await until(`node ${name} is seen`, () => nodes.present.has(name), WITHIN);
  };
  const cordon = (name: string) =>
    write(kube, { ref: node(name), urgency, verb: "patch", patch: "merge", body: { spec: { unschedulable: true } } });

  test("the watch sees what exists now, and nothing that no longer does", async () => {
    await create("kept");
    const version = nodes.present.get("kept")?.resourceVersion;
    const restore = server.backUp();
    await create("lost");
    await cordon("kept");
    await until("the node is seen cordoned", () => nodes.present.get("kept")?.unschedulable === true, WITHIN);
    await restore();
    await server.start();
    await until("the lost node is gone", () => !nodes.present.has("lost"), WITHIN);
    expect(nodes.present.get("kept")).toMatchObject({ resourceVersion: version, unschedulable: false });
    expect(log.lines.some(({ message }) => message.includes("the API server went back from version"))).toBe(true);
    await until("the nodes are synced again", () => nodes.watch.state().synced, WITHIN);
    await create("later");
    await cordon("kept");
    await until("the node is seen cordoned again", () => nodes.present.get("kept")?.unschedulable === true, WITHIN);
  });
});
