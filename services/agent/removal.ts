/** Deletes one object when an agent or a hollow node ends. */
import { type Clock, type Kube, type ObjectRef, Urgency } from "../../protocols/ports.ts";

const TRIES = 5;
/** The longest pause after throttling. */
const PAUSE_MS_MAX = 2_000;

/**
 * Deletes an object, with this uid if given, and retries up to TRIES times while throttled. Calls `done` once: with the
 * error, or null if the object is gone.
 */
export function removeObject(
  io: { readonly clock: Clock; readonly kube: Kube },
  ref: ObjectRef,
  uid: string | undefined,
  done: (refusal: string | null) => void,
  tried = 1,
): void {
  const precondition = uid === undefined ? {} : { uid };
  io.kube.write({ ref, urgency: Urgency.healing, verb: "delete", ...precondition }, (reply) => {
    if (reply.outcome === "throttled" && tried < TRIES) {
      const pauseMs = Math.min(reply.retryAfterMs, PAUSE_MS_MAX);
      io.clock.after(pauseMs, () => removeObject(io, ref, uid, done, tried + 1));
    } else done(reply.outcome === "ok" || reply.outcome === "gone" ? null : reply.detail);
  });
}
