/** Loses the messages that one transport publishes, as long as a test wants it. */
import type { Stop, Transport } from "../../protocols/ports.ts";

/** What an observer publishes: `node`, `pulse` and so on, of one shard. */
export interface ObservedSubject {
  readonly noun: string;
  readonly shard: number;
}

/** Loses what observers publish while `isLost` is true, until the result is called. */
export function loseObserved(transport: Transport, isLost: (subject: ObservedSubject) => boolean): Stop {
  const publish = transport.publish.bind(transport);
  transport.publish = (subject, payload) => {
    const [, , , kind, noun = "", shard] = subject.split(".");
    if (kind === "observed" && isLost({ noun, shard: Number(shard) })) return;
    publish(subject, payload);
  };
  return () => {
    transport.publish = publish;
  };
}
