/** Follows the decisions of a console's ledger, for a process that has no NATS to listen to. */
import type { Decision } from "../../../protocols/ledger-reader.ts";
import type { Clock } from "../../../protocols/ports.ts";
import { printable } from "../../platform/process/printable.ts";
import { type ConsoleAddress, type ConsoleEvent, consoleAt, eventsFromConsole } from "../connect/console-client.ts";
import { WATCH_PERIOD_MS } from "../get/watch-rows.ts";
import { Failure, type Host, pause } from "../verb.ts";

/** The ports of a listener. */
export interface ConsoleListenerIo {
  readonly clock: Clock;
  readonly host: Pick<Host, "stopped" | "readFile" | "environment" | "warn">;
}

/**
 * Calls `onDecision` for each decision from now on, until the process is stopped. Rejects with a Failure when the
 * console cannot be followed at first; retries a lost one.
 */
export async function listenToConsole(
  at: ConsoleAddress,
  { clock, host }: ConsoleListenerIo,
  onDecision: (decision: Decision) => void,
): Promise<void> {
  const { server } = consoleAt(at, host);
  let state = "new" as "new" | "open" | "lost";
  const onEvent = ({ name, data }: ConsoleEvent): void => {
    if (name === "full") throw new Failure(`${server}: too many clients follow this console; try again later`);
    if (state === "new") host.warn(`vigil: following the console at ${server}\n`);
    if (state === "lost") host.warn("vigil: connected again; what happened meanwhile is not shown\n");
    state = "open";
    if (name === "decision") onDecision(data as Decision);
  };
  while (!host.stopped.aborted) {
    try {
      for await (const event of eventsFromConsole(at, "/api/stream?from=now", host, clock)) onEvent(event);
    } catch (problem) {
      if (host.stopped.aborted) return;
      if (state === "new" || !(problem instanceof Failure)) throw problem;
      if (state === "open") host.warn(`vigil: ${printable(problem.message)}; retrying\n`);
      state = "lost";
      await pause(WATCH_PERIOD_MS, clock, host);
    }
  }
}
