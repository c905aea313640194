/** The cluster of a benchmark: an API server and kubelets in processes of their own, without a controller. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { loadKubeConfig } from "../../services/platform/kube/auth/kubeconfig.ts";
import type { SocketWire } from "../../services/platform/kube/transport/https.ts";
import { makeCertificates } from "../support/certificates.ts";
import { CONTROLLER_GROUP, startKubeApiserver } from "../support/kube-apiserver.ts";
import type { AuditedRequest } from "../support/kube-audit.ts";
import { type ClusterSize, Load, type LoadOrder } from "./load.ts";
import type { ApiKind } from "./options.ts";
import { podsInEtcd } from "./pod-template.ts";
import { serverVersionOf } from "./raw-api.ts";

/** As a kubelet: a lease lasts 40 s and is renewed every 10 s. */
export const LEASE_SECONDS = 40;

/** A filled cluster with heartbeats. */
export interface World {
  readonly size: ClusterSize;
  /** A description of the server, such as `embedded API`. */
  readonly server: string;
  readonly kubeconfig: string;
  /** What controllers have requested so far; nothing in a world that is not traced. */
  requests(): readonly AuditedRequest[];
  readonly wire: SocketWire;
  /** The pids of processes that a report names but does not measure. */
  readonly pids: Readonly<Record<string, number>>;
  /** Silences nodes or lets them return; resolves with their number. */
  order(order: LoadOrder): Promise<number>;
  /** Lets so many more nodes join; resolves when all are registered. Only on the real API server. */
  join(nodes: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens a world and resolves when all its nodes, leases and pods exist. */
export function openWorld(api: ApiKind, size: ClusterSize): Promise<World> {
  return api === "embedded" ? openEmbedded(size) : openReal(size);
}

/** Opens a world on a real API server that records what controllers request. */
export function openTracedWorld(size: ClusterSize): Promise<World> {
  return openReal(size, { isTraced: true });
}

/** Opens a world on a real API server that gives new nodes the taint not-ready:NoSchedule, as its defaults have it. */
export function openTaintingWorld(size: ClusterSize): Promise<World> {
  return openReal(size, { untaintedNodes: false });
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
    requests: () => [],
    wire,
    pids: { "API server with kubelets": load.pid },
    order: (order) => load.order(order),
    join: () => Promise.reject(new Error("nodes join the real API server only")),
    close: async () => {
      wire.close();
      await load.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A server that stores nothing, for what a client alone costs. */
export async function openBare(): Promise<Pick<World, "server" | "kubeconfig" | "wire" | "close">> {
  const folder = mkdtempSync(join(tmpdir(), "vigil-bench-"));
  const { caFile, serverCert: cert, serverKey: key } = makeCertificates(folder);
  const program = import.meta.resolve("./bare-api.ts");
  const { load, filled } = await Load.start(program, { nodes: 0, podsPerNode: 0, leaseSeconds: 0, tls: { cert, key } });
  const kubeconfig = join(folder, "kubeconfig");
  const clusters = [{ name: "bare", cluster: { server: filled.url, "certificate-authority": caFile } }];
  const contexts = [{ name: "bare", context: { cluster: "bare", user: "" } }];
  writeFileSync(kubeconfig, JSON.stringify({ clusters, contexts, "current-context": "bare" }));
  const { wire } = await loadKubeConfig({ kubeconfig });
  return {
    server: "a server with TLS that stores nothing",
    kubeconfig,
    wire,
    close: async () => {
      wire.close();
      await load.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

interface RealWorldOptions {
  readonly untaintedNodes?: boolean;
  readonly isTraced?: boolean;
}

async function openReal(
  size: ClusterSize,
  { untaintedNodes = true, isTraced = false }: RealWorldOptions = {},
): Promise<World> {
  const traced = isTraced ? { audit: { group: CONTROLLER_GROUP } } : {};
  const server = await startKubeApiserver({ untaintedNodes, ...traced });
  try {
    const { kubeconfig, pid } = server;
    await server.preload(podsInEtcd(size));
    // The pods exist already: the kubelets only maintain them.
    const kubelets = { nodes: size.nodes, podsPerNode: 0, leaseSeconds: LEASE_SECONDS, kubeconfig };
    const program = import.meta.resolve("./hollow-process.ts");
    const { load } = await Load.start(program, kubelets);
    const joined: Load[] = [];
    const join = async (nodes: number) => {
      const firstNode = size.nodes + joined.length * nodes;
      joined.push((await Load.start(program, { ...kubelets, nodes, firstNode })).load);
    };
    const close = async () => {
      await Promise.all([load, ...joined].map((each) => each.stop()));
      await server.stop();
    };
    const pids = { "kube-apiserver": pid, kubelets: load.pid };
    const order = (given: LoadOrder) => load.order(given);
    const wire = server.wire();
    const { gitVersion } = await serverVersionOf(wire);
    return {
      size,
      server: `kube-apiserver ${gitVersion.replace(/^v/, "")}`,
      kubeconfig: isTraced ? server.kubeconfigFor(server.controllerToken) : kubeconfig,
      requests: () => server.audited(),
      wire,
      pids,
      order,
      join,
      close,
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
