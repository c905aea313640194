/**
 * Vigil in many processes over a real nats-server under the deployed roles: each can do its work, and no more is asked.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeKeys } from "../../deploy/nats/make-keys.ts";
import type { NatsProcess } from "../../deploy/nats/roles.ts";
import { type Kube, type KubeObject, SERVICE_NAMES, type ServiceName, Urgency } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { startController } from "../../services/cli/process/controller.ts";
import { connectNats } from "../../services/platform/bus/nats.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { HollowNodes } from "../../services/sandbox/hollow/hollow.service.ts";
import { metricValue } from "../support/metric-value.ts";
import { atEnd, clock, folder, hear, serve } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { recordingLog } from "../support/recording-log.ts";
import { until } from "../support/until.ts";

const random = systemRandom;

/** A cluster in a hurry: silence is a verdict after two seconds, and a process is missed after one. */
const PROFILE: Profile = {
  ...STANDARD_PROFILE,
  nodeMonitorGraceMs: 2000,
  nodeStartupGraceMs: 4000,
  nodeEvictionsPerSecond: 10,
  pulsePeriodMs: 200,
  pulseTimeoutMs: 1500,
  memberPulseMs: 200,
  memberTimeoutMs: 1000,
};

/** A nats-server with the deployed roles or a user for each of these processes, and the folder of their seeds. */
async function natsWithRoles(processes: readonly NatsProcess[]) {
  const keys = folder();
  makeKeys(keys, processes);
  const fileOf = (name: string) => readFileSync(join(keys, name), "utf8");
  const files = { "keys.conf": fileOf("keys.conf"), "roles.conf": fileOf("roles.conf") };
  const server = await serve({ config: 'include "roles.conf"', files });
  return { server, keys };
}

/** An embedded API with hollow nodes, and what a test asks it. */
function cluster(names: readonly string[]) {
  const apiserver = new ApiServer({ clock, random });
  const kubeOf = (metrics: ReadableMetrics): Kube =>
    createKube({ wire: apiserver.wire, clock, random, log: silentLog, metrics, profile: PROFILE });
  const kube = kubeOf(createMetrics());
  const times = { leaseSeconds: 2, statusReportMs: 60_000 };
  const nodes = new HollowNodes({
    clock,
    kube,
    random,
    log: silentLog,
    nodes: names.map((name) => ({ name })),
    times,
  });
  atEnd(() => nodes.shutdown());
  const read = (kind: "Node" | "Pod", name: string) =>
    new Promise<KubeObject | null>((resolve) => {
      const namespace = kind === "Pod" ? "default" : "";
      kube.read({ kind, namespace, name }, (reply) => resolve(reply.outcome === "ok" ? reply.object : null));
    });
  return { kubeOf, kube, nodes, read };
}

/** A pod that does not put up with an unreachable node. */
function createPod(kube: Kube, name: string, nodeName: string): void {
  const tolerations = [
    { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 },
  ];
  const spec = { nodeName, tolerations, containers: [{ name: "c", image: "i" }] };
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec };
  const ref = { kind: "Pod", namespace: "default", name } as const;
  kube.write({ ref, urgency: Urgency.readiness, verb: "create", body }, () => {});
}

/** Waits until a condition of the API holds. */
async function untilShown(what: string, shown: () => Promise<boolean>): Promise<void> {
  const endMs = clock.monotonicMs() + 30_000;
  while (!(await shown())) {
    if (clock.monotonicMs() > endMs) throw new Error(`not within 30 s: ${what}`);
    await new Promise((resolve) => clock.after(50, () => resolve(null)));
  }
}

const taintsOf = (node: KubeObject | null): string[] => {
  const { taints = [] } = (node?.spec ?? {}) as { taints?: { key: string; effect: string }[] };
  return taints.map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`).sort();
};

type Split = Readonly<Record<string, readonly ServiceName[]>>;

const READERS_AND_WRITERS: Split = {
  reader: ["observer", "node", "zone", "taint-manager"],
  writer: ["node-writer", "pod-writer", "ledger"],
};
/** What each process runs, by its role, and whether it has a user of its own. */
const SPLITS: [string, Split, boolean][] = [
  ["a process for each service", Object.fromEntries(SERVICE_NAMES.map((name) => [name, [name]])), false],
  ["readers apart from writers", READERS_AND_WRITERS, false],
  ["readers apart from writers, a user each", READERS_AND_WRITERS, true],
];

const memberOf = (role: string) => `${role}-0`;

describeWithEachNats("under the deployed roles", () => {
  test.each(SPLITS)(
    "%s: a silent node is tainted, its pods are evicted, and it heals",
    async (_how, processes, isUserEach) => {
      const members = Object.keys(processes).map((role) => ({ role, member: memberOf(role) }));
      const { server, keys } = await natsWithRoles(isUserEach ? members : []);
      const { kubeOf, kube, nodes, read } = cluster(["node-1", "node-2", "node-3", "node-4"]);
      const log = recordingLog();
      const connectAs = async (role: string) => {
        const metrics = createMetrics();
        const user = isUserEach && role !== "inspector" ? memberOf(role) : role;
        const identity = { servers: [server.url], name: role, nkeyFile: join(keys, `${user}.nk`) };
        const transport = await connectNats({ ...identity, clock, log, metrics });
        atEnd(() => transport.close());
        return { role, metrics, transport };
      };
      // It subscribes before anything is judged: an unchanged judgement is published once.
      const inspector = await connectAs("inspector");
      const judged = hear(inspector.transport, "vigil.v1.prod.judged.node.*.node-1");
      await inspector.transport.flush();
      const links = await Promise.all(Object.keys(processes).map(connectAs));
      for (const { role, metrics, transport } of links) {
        const common = { clock, random, log, metrics, profile: PROFILE, kube: kubeOf(metrics), transport };
        const place = {
          cluster: "prod",
          member: memberOf(role),
          services: processes[role] ?? [],
          isShared: true,
          store: null,
        };
        const controller = startController({ ...common, ...place, fatal: (problem) => log.error(problem) });
        atEnd(() => controller.stop());
      }
      await untilShown("node-1 is at the API", async () => (await read("Node", "node-1")) !== null);
      createPod(kube, "web", "node-1");
      await untilShown("node-1 is well", async () => taintsOf(await read("Node", "node-1")).length === 0);
      await until("it is judged ready", () => judged.some((text) => text.includes('"readiness":"ready"')));
      nodes.stop({ names: ["node-1"] });
      await untilShown("node-1 is tainted", async () =>
        taintsOf(await read("Node", "node-1")).includes("unreachable:NoExecute"),
      );
      await untilShown("its pod is evicted", async () => {
        const pod = await read("Pod", "web");
        return pod === null || pod.metadata.deletionTimestamp !== undefined;
      });
      nodes.resume({ names: ["node-1"] });
      await untilShown("node-1 is healed", async () => taintsOf(await read("Node", "node-1")).length === 0);
      for (const { role, metrics } of [...links, inspector]) {
        const refused = await metricValue(metrics, "vigil_nats_permission_violations_total");
        expect({ role, refused }).toEqual({ role, refused: 0 });
      }
      for (const { role, metrics } of links) {
        const dropped = await metricValue(metrics, "vigil_bus_dropped_total", { reason: "forbidden" });
        expect({ role, dropped }).toEqual({ role, dropped: 0 });
      }
      expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
    },
  );
});
