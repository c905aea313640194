/** Vigil over a real nats-server under the deployed roles, on an embedded API with hollow nodes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { makeKeys } from "../../deploy/nats/make-keys.ts";
import type { NatsProcess } from "../../deploy/nats/roles.ts";
import { type Kube, type KubeObject, type ServiceName, Urgency } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { startController } from "../../services/cli/process/controller.ts";
import { connectNats, type NatsTransport } from "../../services/platform/bus/nats.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { HollowNodes } from "../../services/sandbox/hollow/hollow.service.ts";
import { atEnd, clock, folder, serve } from "../support/nats-links.ts";
import type { recordingLog } from "../support/recording-log.ts";

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
export async function natsWithRoles(processes: readonly NatsProcess[]) {
  const keys = folder();
  makeKeys(keys, processes);
  const fileOf = (name: string) => readFileSync(join(keys, name), "utf8");
  const files = { "keys.conf": fileOf("keys.conf"), "roles.conf": fileOf("roles.conf") };
  const server = await serve({ config: 'include "roles.conf"', files });
  return { server, keys };
}

/** An embedded API with hollow nodes, and what a test asks it. */
export function cluster(names: readonly string[]) {
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
export function createPod(kube: Kube, name: string, nodeName: string): void {
  const tolerations = [
    { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 },
  ];
  const spec = { nodeName, tolerations, containers: [{ name: "c", image: "i" }] };
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec };
  const ref = { kind: "Pod", namespace: "default", name } as const;
  kube.write({ ref, urgency: Urgency.readiness, verb: "create", body }, () => {});
}

/** Waits until a condition of the API holds. */
export async function untilShown(what: string, shown: () => Promise<boolean>): Promise<void> {
  const endMs = clock.monotonicMs() + 30_000;
  while (!(await shown())) {
    if (clock.monotonicMs() > endMs) throw new Error(`not within 30 s: ${what}`);
    await new Promise((resolve) => clock.after(50, () => resolve(null)));
  }
}

/** The keys and effects of a node's taints. */
export const taintsOf = (node: KubeObject | null): string[] => {
  const { taints = [] } = (node?.spec ?? {}) as { taints?: { key: string; effect: string }[] };
  return taints.map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`).sort();
};

/** A process of the fleet, or a client beside it. */
export interface Linked {
  readonly role: string;
  readonly metrics: ReadableMetrics;
  readonly transport: NatsTransport;
}

/** What a process runs, and on what. */
export interface ProcessOptions {
  readonly services: readonly ServiceName[];
  readonly member: string;
  readonly kube: Kube;
  readonly log: ReturnType<typeof recordingLog>;
}

/** Connects with the seed of a user, by default that of the role. */
export async function connectAs(
  url: string,
  keys: string,
  role: string,
  user = role,
  log = silentLog,
): Promise<Linked> {
  const metrics = createMetrics();
  const identity = { servers: [url], name: role, nkeyFile: join(keys, `${user}.nk`) };
  const transport = await connectNats({ ...identity, clock, log, metrics });
  atEnd(() => transport.close());
  return { role, metrics, transport };
}

/** Starts a process of the fleet for the present test. */
export function startProcess({ metrics, transport }: Linked, { log, ...options }: ProcessOptions): void {
  const common = {
    clock,
    random,
    log,
    metrics,
    profile: PROFILE,
    transport,
    cluster: "prod",
    isShared: true,
    store: null,
  };
  const controller = startController({ ...common, ...options, fatal: (problem) => log.error(problem) });
  atEnd(() => controller.stop());
}
