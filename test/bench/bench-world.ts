/** A cluster to be measured in: an API server and kubelets, in processes of their own. It runs no controller. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubeconfigOf } from "../../services/cli/served-api.ts";
import { loadKubeConfig } from "../../services/platform/kube/auth/kubeconfig.ts";
import type { SocketWire } from "../../services/platform/kube/transport/https.ts";
import { startKubeApiserver } from "../support/kube-apiserver.ts";
import { type ClusterSize, Load, type LoadOrder } from "./load.ts";
import type { ApiKind } from "./options.ts";
import { podsInEtcd } from "./pod-template.ts";

/** kubelet's: a lease lasts 40 s and is renewed each 10 s. */
export const LEASE_SECONDS = 40;

/** A cluster that is filled and heartbeats. */
export interface World {
  readonly size: ClusterSize;
  /** The server in words, such as `embedded API`. */
  readonly server: string;
  readonly kubeconfig: string;
  readonly wire: SocketWire;
  /** The processes that are not measured but named in a report, by what they are. */
  readonly pids: Readonly<Record<string, number>>;
  /** Silences nodes or lets them come back; how many. */
  order(order: LoadOrder): Promise<number>;
  close(): Promise<void>;
}

/** Opens a world: resolves when all its nodes, leases and pods are there. */
export function openWorld(api: ApiKind, size: ClusterSize): Promise<World> {
  return api === "embedded" ? openEmbedded(size) : openReal(size);
}

async function openEmbedded(size: ClusterSize): Promise<World> {
  const { load, filled } = await Load.start(import.meta.resolve("./apiserver-process.ts"), {
    ...size,
    leaseSeconds: LEASE_SECONDS,
  });
  const folder = mkdtempSync(join(tmpdir(), "vigil-bench-"));
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigOf("bench", filled.url));
  const { wire } = await loadKubeConfig({ kubeconfig });
  return {
    size,
    server: "embedded API",
    kubeconfig,
    wire,
    pids: { "API server with kubelets": load.pid },
    order: (order) => load.order(order),
    close: async () => {
      wire.close();
      await load.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

async function openReal(size: ClusterSize): Promise<World> {
  const server = await startKubeApiserver({ untaintedNodes: true });
  try {
    const { kubeconfig, pid } = server;
    await server.preload(podsInEtcd(size));
    // The pods are there: the kubelets only mind them.
    const kubelets = { nodes: size.nodes, podsPerNode: 0, leaseSeconds: LEASE_SECONDS, kubeconfig };
    const { load } = await Load.start(import.meta.resolve("./hollow-process.ts"), kubelets);
    const close = async () => {
      await load.stop();
      await server.stop();
    };
    const pids = { "kube-apiserver": pid, kubelets: load.pid };
    const order = (given: LoadOrder) => load.order(given);
    return { size, server: "kube-apiserver 1.20.2", kubeconfig, wire: server.wire(), pids, order, close };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
