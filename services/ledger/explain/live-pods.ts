/**
 * Reads a pod live for its explanation, because most pods appear in no message and a record is true of its uid only.
 * After three seconds without an answer the explanation continues without one.
 */
import type { ObservedPod } from "../../../protocols/objects.ts";
import { type Clock, type Kube, type ReadReply, Urgency } from "../../../protocols/ports.ts";
import { epochMsOf } from "../../domain/api-time.ts";
import { spanText } from "../../domain/format.ts";
import { projectPod, UNREPORTED } from "../../platform/kube/watch/projection.ts";
import { SingleFlightReads } from "../../platform/requests/single-flight-reads.ts";
import { listOf, textOf } from "../../structures/json.ts";
import { type Disruption, disruptionOf } from "./disruption.policy.ts";

/** The result of a live read of a pod. */
export type PodRead =
  | {
      readonly kind: "present";
      readonly uid: string;
      /** As observed; null for a pod that is bound to no node. */
      readonly bound: { readonly node: string; readonly pod: ObservedPod } | null;
      /** When its deletion was accepted, epoch milliseconds; null while it is not terminating. */
      readonly terminatingSince: number | null;
      readonly finalizers: readonly string[];
      readonly disruption: Disruption | null;
    }
  | { readonly kind: "absent" }
  | { readonly kind: "unread"; readonly why: string };

/** How long a read waits for its answer, in milliseconds. */
export const ANSWER_MS = 3000;
/** How long one answer serves further reads of the same pod, in milliseconds. */
const KEPT_MS = 500;
/** Concurrent reads: explanations are few, and nothing may wait for them. */
const READS_MAX = 4;

/** Reads pods at the lowest urgency. */
export class LivePods {
  readonly #clock: Clock;
  readonly #reads: SingleFlightReads<PodRead>;

  constructor({ kube, clock }: { readonly kube: Pick<Kube, "read">; readonly clock: Clock }) {
    this.#clock = clock;
    this.#reads = new SingleFlightReads({ project: podReadOf, kube, clock, keptMs: KEPT_MS, waitersMax: READS_MAX });
  }

  /** Reads a pod and calls `done` once, later. */
  read(namespace: string, name: string, done: (read: PodRead) => void): void {
    let isAnswered = false;
    const answer = (read: PodRead): void => {
      if (isAnswered) return;
      isAnswered = true;
      timer.cancel();
      done(read);
    };
    const timer = this.#clock.after(ANSWER_MS, () =>
      answer({ kind: "unread", why: `no answer came within ${spanText(ANSWER_MS)}` }),
    );
    const place = { urgency: Urgency.event, stepsBefore: 1 } as const;
    this.#reads.read({ kind: "Pod", namespace, name }, ({ found }) => answer(found), place);
  }
}

function podReadOf(reply: ReadReply): PodRead {
  if (reply.outcome === "gone") return { kind: "absent" };
  if (reply.outcome !== "ok") return { kind: "unread", why: reply.detail };
  const { metadata } = reply.object;
  const deletedAt = epochMsOf(textOf(metadata.deletionTimestamp) ?? undefined);
  const grace = metadata.deletionGracePeriodSeconds;
  const graceSeconds = typeof grace === "number" ? grace : 0;
  const bound = projectPod(reply.object, UNREPORTED);
  return {
    kind: "present",
    uid: metadata.uid ?? "",
    bound: bound === null ? null : { node: bound.node, pod: bound.pod },
    terminatingSince: deletedAt === null ? null : deletedAt - graceSeconds * 1000,
    finalizers: listOf(metadata.finalizers).flatMap((finalizer) => textOf(finalizer) ?? []),
    disruption: disruptionOf(reply.object.status),
  };
}
