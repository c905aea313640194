/** Loses the messages that one transport publishes, for as long as a test needs. */
import type { Stop, Transport } from "../../protocols/ports.ts";

/** A message of an observer: `node`, `pulse` and so on, of one shard. */
export interface ObservedSubject {
  readonly noun: string;
  readonly shard: number;
}

/** Loses the observers' messages for which `isLost` is true, until the returned function is called. */
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
