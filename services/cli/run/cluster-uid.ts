/**
 * Which Kubernetes cluster is behind an API server, so that a process can tell its fleet from another's. It asks once,
 * and what follows from the answer is decided elsewhere.
 */
import type { Clock, Kube, Log, ReadReply } from "../../../protocols/ports.ts";

/** The first thing that a cluster has, and the last that anybody would delete. */
const KUBE_SYSTEM = { kind: "Namespace", namespace: "", name: "kube-system" } as const;

/** A start may wait for this; an API server that has just answered takes milliseconds. */
const WAIT_MS = 2_000;

/** The uid of namespace kube-system; null, with a line in the log, where it cannot be had. */
export async function clusterUid(io: {
  readonly kube: Pick<Kube, "read">;
  readonly clock: Clock;
  readonly log: Log;
}): Promise<string | null> {
  const reply = await new Promise<ReadReply>((resolve) => {
    const late = { outcome: "failed", detail: `no answer within ${WAIT_MS} ms` } as const;
    const timer = io.clock.after(WAIT_MS, () => resolve(late));
    io.kube.read(KUBE_SYSTEM, (answer) => {
      timer.cancel();
      resolve(answer);
    });
  });
  if (reply.outcome === "ok" && reply.object.metadata.uid !== undefined) return reply.object.metadata.uid;
  const detail = reply.outcome === "ok" ? "it has no uid" : reply.detail;
  io.log.warn(
    "cannot tell this Kubernetes cluster from another on the same NATS: give the account get on namespace kube-system",
    { detail },
  );
  return null;
}
