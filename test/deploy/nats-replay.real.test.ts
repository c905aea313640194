/**
 * Everything that a fleet published while a node died and returned, recorded byte by byte on a real nats-server, and
 * published again later with the seeds of other roles: nothing is written a second time.
 */
import { expect, test } from "vitest";
import type { Kube, ServiceName } from "../../protocols/ports.ts";
import { metricValue } from "../support/metric-value.ts";
import { clock } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { recordingLog } from "../support/recording-log.ts";
import { cluster, connectAs, createPod, natsWithRoles, startProcess, taintsOf, untilShown } from "./nats-world.ts";

const READER: readonly ServiceName[] = ["observer", "node", "zone", "taint-manager"];
const WRITER: readonly ServiceName[] = ["node-writer", "pod-writer", "ledger"];
/** Roles of single services, one that may only read, and one that may publish everything. */
const REPLAYERS = ["writer", "ledger", "pod-writer", "zone", "inspector", "reader", "cluster"];
const REQUEST = ".asked.";
/** Longer than every silence that counts for a verdict. */
const LATER_MS = 6_000;

/** A message as NATS carried it. */
interface Message {
  readonly subject: string;
  readonly payload: Uint8Array;
}

/** A fleet of a reader and a writer, and what the writer requests of the API. */
async function fleet() {
  const { server, keys } = await natsWithRoles([]);
  const world = cluster(["node-1", "node-2", "node-3", "node-4"]);
  const log = recordingLog();
  const as = (role: string) => connectAs(server.url, keys, role);
  const [inspector, reader, writer] = [await as("inspector"), await as("reader"), await as("writer")];
  const recorded: Message[] = [];
  inspector.transport.subscribe("vigil.v1.prod.>", (payload, subject) => {
    recorded.push({ subject, payload: payload.slice() });
  });
  await inspector.transport.flush();
  const writes: Parameters<Kube["write"]>[0][] = [];
  const watched = (kube: Kube): Kube => ({
    ...kube,
    write: (write, done) => {
      writes.push(write);
      kube.write(write, done);
    },
  });
  startProcess(reader, { services: READER, member: "reader-0", kube: world.kubeOf(reader.metrics), log });
  startProcess(writer, { services: WRITER, member: "writer-0", kube: watched(world.kubeOf(writer.metrics)), log });
  return { ...world, as, recorded, writes, log };
}

/** Lets node-1 die with a pod and return, and gives it a new pod. Returns everything that was published meanwhile. */
async function deathAndReturn({ kube, nodes, read, recorded }: Awaited<ReturnType<typeof fleet>>): Promise<Message[]> {
  const taints = async () => taintsOf(await read("Node", "node-1"));
  await untilShown("node-1 is at the API", async () => (await read("Node", "node-1")) !== null);
  createPod(kube, "web", "node-1");
  await untilShown("node-1 is well", async () => (await taints()).length === 0);
  nodes.stop({ names: ["node-1"] });
  await untilShown("node-1 is tainted", async () => (await taints()).includes("unreachable:NoExecute"));
  await untilShown("its pod is evicted", async () => {
    const pod = await read("Pod", "web");
    return pod === null || pod.metadata.deletionTimestamp !== undefined;
  });
  nodes.resume({ names: ["node-1"] });
  await untilShown("node-1 is healed", async () => (await taints()).length === 0);
  await untilShown("its pod is gone", async () => (await read("Pod", "web")) === null);
  createPod(kube, "web", "node-1");
  await new Promise((resolve) => clock.after(LATER_MS, () => resolve(null)));
  const old = recorded.splice(0);
  for (const request of ["asked.condition", "asked.taint", "asked.eviction"]) {
    expect(old.some(({ subject }) => subject.includes(request))).toBe(true);
  }
  return old;
}

describeWithEachNats("under the deployed roles", () => {
  test("old messages that other roles publish again do nothing", async () => {
    const world = await fleet();
    const old = await deathAndReturn(world);
    const { read, as, recorded, writes, log } = world;
    const [pod, written] = [await read("Pod", "web"), writes.length];
    expect(written).toBeGreaterThan(2);
    for (const role of REPLAYERS) {
      const { transport, metrics } = await as(role);
      for (const { subject, payload } of old) transport.publish(subject, payload);
      await transport.flush();
      await new Promise((resolve) => clock.after(LATER_MS / 2, () => resolve(null)));
      expect(writes.slice(written), role).toEqual([]);
      const refused = await metricValue(metrics, "vigil_nats_permission_violations_total");
      expect({ role, isRefused: refused > 0 }).toEqual({ role, isRefused: role !== "cluster" });
    }
    expect(recorded.filter(({ subject }) => subject.includes(REQUEST)).length).toBeGreaterThan(0);
    expect(taintsOf(await read("Node", "node-1"))).toEqual([]);
    expect((await read("Pod", "web"))?.metadata).toEqual(pod?.metadata);
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});
