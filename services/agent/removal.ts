/** Deletes one object of the API for whoever leaves. Whether it should go is the caller's decision. */
import { type Clock, type Kube, type ObjectRef, Urgency } from "../../protocols/ports.ts";

const TRIES = 5;
/** Whoever leaves waits no longer than this for room at the API. */
const PAUSE_MS_MAX = 2_000;

/**
 * Deletes an object, if it is the one of this uid where one is named; asks again while the API has no room. `done` is
 * called once, with the refusal, or null when the object is gone.
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
