/**
 * Keeps the last message of each subject undecoded until it is taken. A console receives 64 pulses a second and needs
 * them every ten seconds, for a probe.
 */
import type { Message, MessageType } from "../../../protocols/messages.ts";
import type { Clock, Latest, Transport } from "../../../protocols/ports.ts";
import { admit } from "./admission.policy.ts";

/** The bytes without anything behind them: those from a socket are a view of a far larger buffer. */
function ownBytes(payload: Uint8Array): Uint8Array {
  return payload.byteLength === payload.buffer.byteLength ? payload : payload.slice();
}

/** Keeps the last bytes of each subject under a pattern; `take` skips those that are no message of `type`. */
export function latestOf<T extends MessageType>(
  { transport, clock, cluster }: { readonly transport: Transport; readonly clock: Clock; readonly cluster: string },
  pattern: string,
  type: T,
): Latest<T> {
  const unread = new Map<string, { readonly payload: Uint8Array; readonly receivedMs: number }>();
  const stop = transport.subscribe(pattern, (payload, subject) => {
    unread.set(subject, { payload: ownBytes(payload), receivedMs: clock.monotonicMs() });
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
