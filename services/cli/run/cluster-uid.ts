/**
 * Which Kubernetes cluster is behind an API server, so that a process can tell its fleet from another's, and notices
 * when its cluster has been made again. What follows from the answers is decided elsewhere.
 */
import type { Clock, Kube, Log, ReadReply, Stop } from "../../../protocols/ports.ts";

/** The first thing that a cluster has, and the last that anybody would delete. */
const KUBE_SYSTEM = { kind: "Namespace", namespace: "", name: "kube-system" } as const;

/** A start may wait for this; an API server that has just answered takes milliseconds. */
const WAIT_MS = 2_000;

/** How often a process makes sure that its cluster is still the same: well within the grace of a node. */
const PERIOD_MS = 10_000;

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
  const uid = uidIn(reply);
  if (uid !== null) return uid;
  const detail = reply.outcome === "ok" ? "it has no uid" : reply.detail;
  io.log.warn(
    "cannot tell this Kubernetes cluster from another on the same NATS: give the account get on namespace kube-system",
    { detail },
  );
  return null;
}

/**
 * Reads the uid again and again, and calls `replaced` once, with the fault in one line, when it is another than before:
 * the cluster was made again under the same address. `known` is the uid at the start; where it is null the first one
 * read takes its place. A read that fails says nothing about the cluster.
 */
export function watchClusterUid(
  { kube, clock }: { readonly kube: Pick<Kube, "read">; readonly clock: Clock },
  known: string | null,
  replaced: (problem: string) => void,
): Stop {
  let isStopped = false;
  const take = (reply: ReadReply): void => {
    const now = uidIn(reply);
    known ??= now;
    if (isStopped) return;
    // Without the right to read it there is nothing to compare, and no use in asking every time.
    const isHopeless = known === null && reply.outcome === "denied";
    if (now !== null && now !== known) replaced(replacedLine(now, known));
    else if (!isHopeless) timer = clock.after(PERIOD_MS, read);
  };
  const read = (): void => kube.read(KUBE_SYSTEM, take);
  let timer = clock.after(known === null ? 0 : PERIOD_MS, read);
  return () => {
    isStopped = true;
    timer.cancel();
  };
}

function replacedLine(now: string, before: string | null): string {
  return (
    `the API server serves another Kubernetes cluster than before (its kube-system has uid ${now}, before it was ` +
    `${before}): start this process again to run there`
  );
}

function uidIn(reply: ReadReply): string | null {
  return reply.outcome === "ok" ? (reply.object.metadata.uid ?? null) : null;
}
