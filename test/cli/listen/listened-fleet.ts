/**
 * A fleet to listen to: `vigil run` as a process on a real nats-server with the deployed roles, an embedded API, and
 * hollow nodes, of which `worker-7` with pod `shop/cart-0` falls silent on order.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeKeys } from "../../../deploy/nats/make-keys.ts";
import { rolesConfig } from "../../../deploy/nats/roles.ts";
import { type Kube, type ObjectRef, Urgency } from "../../../protocols/ports.ts";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { kubeconfigOf } from "../../../services/cli/apiserver/served-api.ts";
import { connectNats, type NatsTransport } from "../../../services/platform/bus/nats.ts";
import { createKube } from "../../../services/platform/kube/kube.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { systemRandom as random } from "../../../services/platform/process/random.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { listen } from "../../../services/sandbox/apiserver/http/http-front.ts";
import { HollowNodes } from "../../../services/sandbox/hollow/hollow.service.ts";
import { startNatsServer } from "../../support/nats-server.ts";
import { VigilProcess } from "../../support/vigil-process.ts";

const clock = realClock();
const log = silentLog;

/** The flags of the process: a cluster in a hurry. */
const FLAGS = [
  "--node-monitor-grace-period=2s",
  "--node-startup-grace-period=4s",
  "--node-eviction-rate=10",
  "--member=vigil-0",
  "--log-format=json",
];

/** Its policies: one, whose nodes do not exist. */
const POLICIES = "policies: [{ name: gpu, spec: { selector: { matchLabels: { pool: gpu } }, maxUnhealthy: 20% } }]\n";

/** A running fleet. */
export interface ListenedFleet {
  readonly natsUrl: string;
  /** The file with the inspector's seed. */
  readonly inspectorKey: string;
  /** A folder for the test. */
  readonly folder: string;
  /** A connection with the inspector's key. */
  readonly inspector: NatsTransport;
  /** Starts `vigil run`, after listeners are there. */
  run(): Promise<void>;
  /** Makes worker-7 fall silent. */
  silence(): void;
  stop(): Promise<void>;
}

/** Starts everything but `vigil run`. */
export async function startListenedFleet(): Promise<ListenedFleet> {
  const folder = mkdtempSync(join(tmpdir(), "vigil-listen-"));
  makeKeys(folder);
  const files = { "keys.conf": readFileSync(join(folder, "keys.conf"), "utf8"), "roles.conf": rolesConfig() };
  const nats = await startNatsServer({ config: 'include "roles.conf"', files, jetstream: true });
  const apiserver = new ApiServer({ clock, random });
  const front = await listen(apiserver, { port: 0 });
  writeFileSync(join(folder, "kubeconfig"), kubeconfigOf("c", front.url));
  writeFileSync(join(folder, "policies.yaml"), POLICIES);
  const metrics = createMetrics();
  const kube = createKube({ wire: apiserver.wire, clock, random, log, metrics, profile: STANDARD_PROFILE });
  const specs = ["worker-1", "worker-2", "worker-3", "worker-7"].map((name) => {
    return { name, region: "eu-west-1", zone: name === "worker-1" ? "eu-west-1a" : "eu-west-1b" };
  });
  const nodes = new HollowNodes({ clock, kube, random, log, nodes: specs, times: TIMES });
  createPod(kube);
  const inspectorKey = join(folder, "inspector.nk");
  const identity = { servers: [nats.url], name: "inspector", nkeyFile: inspectorKey };
  const inspector = await connectNats({ ...identity, clock, log, metrics });
  let vigil: VigilProcess | null = null;
  return {
    natsUrl: nats.url,
    inspectorKey,
    folder,
    inspector,
    async run() {
      const seeds = [`--nats-nkey=${join(folder, "cluster.nk")}`, `--nats-history-nkey=${join(folder, "history.nk")}`];
      const connections = [`--kubeconfig=${join(folder, "kubeconfig")}`, `--nats=${nats.url}`, ...seeds];
      const config = `--config=${join(folder, "policies.yaml")}`;
      vigil = new VigilProcess(["run", ...connections, config, ...FLAGS]);
      await vigil.untilLogged("running");
    },
    silence: () => void nodes.stop({ names: ["worker-7"] }),
    async stop() {
      vigil?.signal("SIGTERM");
      await vigil?.exited();
      nodes.shutdown();
      await inspector.close();
      await nats.stop();
      await front.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const TIMES = { leaseSeconds: 2, statusReportMs: 60_000 };

/** The pod of worker-7; it does not put up with an unreachable node. */
function createPod(kube: Kube): void {
  const create = (ref: ObjectRef, body: object) =>
    kube.write({ ref, urgency: Urgency.status, verb: "create", body }, () => {});
  create(
    { kind: "Namespace", namespace: "", name: "shop" },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
  );
  const tolerations = [
    { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 },
  ];
  const spec = { nodeName: "worker-7", tolerations, containers: [{ name: "c", image: "i" }] };
  const metadata = { name: "cart-0", namespace: "shop" };
  create({ kind: "Pod", ...metadata }, { apiVersion: "v1", kind: "Pod", metadata, spec });
}
