/**
 * The identity of the Kubernetes cluster behind an API server: it separates fleets on one NATS, and reveals a cluster
 * that was recreated under the same address.
 */
import type { Clock, Kube, Log, ReadReply, Stop } from "../../../protocols/ports.ts";

/** Every cluster has this namespace from its start. */
const KUBE_SYSTEM = { kind: "Namespace", namespace: "", name: "kube-system" } as const;

/** How long a start waits for the uid; an API server that has just answered needs milliseconds. */
const WAIT_MS = 2_000;

/** How often the uid is checked: well within the grace period of a node. */
const PERIOD_MS = 10_000;

/** The uid of namespace kube-system; null, with a warning, where it cannot be read. */
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
 * Reads the uid periodically and calls `replaced` once, with the problem in one line, when it has changed: the cluster
 * was recreated under the same address. `known` is the uid at the start; null accepts the first uid that is read. A
 * failed read changes nothing.
 */
export function watchClusterUid(
  { kube, clock }: { readonly kube: Pick<Kube, "read">; readonly clock: Clock },
  known: string | null,
  replaced: (problem: string) => void,
): Stop {
  let isStopped = false;
  const onReply = (reply: ReadReply): void => {
    const now = uidIn(reply);
    known ??= now;
    if (isStopped) return;
    // Without the right to read the uid there is nothing to compare.
    const isHopeless = known === null && reply.outcome === "denied";
    if (now !== null && now !== known) replaced(replacedLine(now, known));
    else if (!isHopeless) timer = clock.after(PERIOD_MS, read);
  };
  const read = (): void => kube.read(KUBE_SYSTEM, onReply);
  let timer = clock.after(known === null ? 0 : PERIOD_MS, read);
  return () => {
    isStopped = true;
    timer.cancel();
  };
}

function replacedLine(now: string, before: string | null): string {
  return (
    `the API server serves another Kubernetes cluster than before (its kube-system has uid ${now}, before it was ` +
    `${before}): restart this process to run there`
  );
}

function uidIn(reply: ReadReply): string | null {
  return reply.outcome === "ok" ? (reply.object.metadata.uid ?? null) : null;
}
