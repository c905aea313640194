/**
 * Keeps the last message of each subject undecoded until it is taken. A console receives 64 pulses a second and needs
 * them every ten seconds, for a probe.
 */
import type { Message, MessageType } from "../../../protocols/messages.ts";
import type { Clock, Latest, Transport } from "../../../protocols/ports.ts";
import { admit } from "./admission.policy.ts";

/** Keeps the last bytes of each subject under a pattern; `take` skips those that are no message of `type`. */
export function latestOf<T extends MessageType>(
  { transport, clock, cluster }: { readonly transport: Transport; readonly clock: Clock; readonly cluster: string },
  pattern: string,
  type: T,
): Latest<T> {
  const unread = new Map<string, { readonly payload: Uint8Array; readonly receivedMs: number }>();
  const stop = transport.subscribe(pattern, (payload, subject) => {
    // A copy: bytes from a socket are a view of a far larger buffer.
    unread.set(subject, { payload: payload.slice(), receivedMs: clock.monotonicMs() });
  });
  return {
    stop,
    take() {
      const taken: { message: Message<T>; receivedMs: number }[] = [];
      const wallMs = clock.wallMs();
      for (const [subject, { payload, receivedMs }] of unread) {
        const admission = admit(payload, type, { subject, cluster, wallMs });
        if ("message" in admission) taken.push({ message: admission.message, receivedMs });
      }
      unread.clear();
      return taken;
    },
  };
}
