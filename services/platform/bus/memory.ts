/** The transport within one process. It loses nothing and delivers after the current actor has finished. */
import type { Clock, Stop, Transport } from "../../../protocols/ports.ts";
import { SubjectTree } from "../../structures/subject-tree.ts";

interface Subscription {
  readonly receive: (payload: Uint8Array, subject: string) => void;
  open: boolean;
}

/** A transport whose subscribers are all in this process; it is always connected. */
export function memoryTransport(clock: Clock): Transport {
  const tree = new SubjectTree<Subscription>();
  let deliveries: (() => void)[] = [];

  const deliver = (): void => {
    const due = deliveries;
    deliveries = [];
    for (const each of due) each();
  };

  return {
    publish(subject, payload) {
      const waiting = deliveries.length > 0;
      tree.match(subject, (subscription) =>
        deliveries.push(() => {
          if (subscription.open) subscription.receive(payload, subject);
        }),
      );
      if (!waiting && deliveries.length > 0) clock.soon(deliver);
    },
    subscribe(pattern, receive): Stop {
      const subscription = { receive, open: true };
      const remove = tree.add(pattern, subscription);
      return () => {
        subscription.open = false;
        remove();
      };
    },
    connected: () => true,
    onConnection: () => () => {},
  };
}
