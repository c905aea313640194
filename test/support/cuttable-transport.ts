/** A transport whose link a test can break, in one direction or in both. It delays and reorders nothing. */
import type { Stop, Transport } from "../../protocols/ports.ts";

/** A transport with a link that can be broken. */
export interface CuttableTransport extends Transport {
  /** Whether published messages leave. */
  sends: boolean;
  /** Whether messages of others arrive. */
  receives: boolean;
  /** Breaks the connection and reports that to the transport, or restores it. */
  setConnected(connected: boolean): void;
}

/** Wraps a transport with an unbroken link. */
export function cuttableTransport(inner: Transport): CuttableTransport {
  const watchers = new Set<(connected: boolean) => void>();
  let connected = true;
  const link: CuttableTransport = {
    sends: true,
    receives: true,
    publish(subject, payload) {
      if (connected && link.sends) inner.publish(subject, payload);
    },
    subscribe: (pattern, receive) =>
      inner.subscribe(pattern, (payload, subject) => {
        if (connected && link.receives) receive(payload, subject);
      }),
    connected: () => connected,
    onConnection(changed) {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    setConnected(now) {
      if (now === connected) return;
      connected = now;
      for (const changed of watchers) changed(now);
    },
  };
  return link;
}

/** The same transport with a switch; `cut` returns a function that restores the link. */
export function cuttable(inner: Transport): { transport: Transport; cut: () => Stop } {
  const transport = cuttableTransport(inner);
  return {
    transport,
    cut: () => {
      transport.setConnected(false);
      return () => transport.setConnected(true);
    },
  };
}
