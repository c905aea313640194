/** The transport within one process. It loses nothing and delivers after the current actor has finished. */
import type { Clock, Stop, Transport } from "../../../protocols/ports.ts";
import { SubjectTree } from "../../structures/subject-tree.ts";

interface Subscription {
  readonly receive: (payload: Uint8Array, subject: string) => void;
  open: boolean;
}

interface Delivery {
  readonly subscription: Subscription;
  readonly payload: Uint8Array;
  readonly subject: string;
}

/** A transport whose subscribers are all in this process; it is always connected. */
export function memoryTransport(clock: Clock): Transport {
  const tree = new SubjectTree<Subscription>();
  let deliveries: Delivery[] = [];

  const deliver = (): void => {
    const due = deliveries;
    deliveries = [];
    for (const { subscription, payload, subject } of due) if (subscription.open) subscription.receive(payload, subject);
  };

  return {
    publish(subject, payload) {
      const waiting = deliveries.length > 0;
      tree.match(subject, (subscription) => deliveries.push({ subscription, payload, subject }));
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
