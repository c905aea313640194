/**
 * The last message of each subject, unopened until somebody looks. A console hears 64 pulses a second and is asked
 * about them by a probe each ten seconds.
 */
import type { Message, MessageType } from "../../../protocols/messages.ts";
import type { Clock, Latest, Transport } from "../../../protocols/ports.ts";
import { admit } from "./admission.policy.ts";

interface Unread {
  readonly payload: Uint8Array;
  readonly receivedMs: number;
}

/** Keeps what comes under a pattern for messages of `type`; bytes that are no such message are passed over. */
export function latestOf<T extends MessageType>(
  { transport, clock, cluster }: { readonly transport: Transport; readonly clock: Clock; readonly cluster: string },
  pattern: string,
  type: T,
): Latest<T> {
  const unread = new Map<string, Unread>();
  const stop = transport.subscribe(pattern, (payload, subject) => {
    // A copy: over sockets the bytes are a view of a far larger piece.
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
