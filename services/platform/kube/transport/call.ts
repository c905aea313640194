/** One request with a deadline, whose response is delivered whole. outcome.policy.ts decides what it means. */
import type { Clock, HttpRequest, Wire } from "../../../../protocols/ports.ts";

/** The result of a request: a whole answer, or none. */
export type Answer =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly text: string;
    }
  | {
      readonly kind: "lost";
      readonly message: string;
      /** Whether the server may have received the request. */
      readonly sent: boolean;
      readonly timedOut: boolean;
      /** Whether it was not sent because it had waited too long. */
      readonly isLate?: boolean;
    };

/** Sends a request and calls `done` once: with the answer, or after `timeoutMs` without one. */
export function call(
  io: { readonly wire: Wire; readonly clock: Clock },
  request: HttpRequest,
  timeoutMs: number,
  done: (answer: Answer) => void,
): void {
  const chunks: Uint8Array[] = [];
  let status = 0;
  let headers: Readonly<Record<string, string>> = {};
  let open = true;
  const finish = (answer: Answer): void => {
    if (!open) return;
    open = false;
    timer.cancel();
    done(answer);
  };
  const timer = io.clock.after(timeoutMs, () => {
    exchange.abort();
    finish({ kind: "lost", message: `no answer within ${timeoutMs} ms`, sent: true, timedOut: true });
  });
  const exchange = io.wire.send(request, {
    response: (code, received) => {
      status = code;
      headers = received;
    },
    data: (chunk) => chunks.push(chunk),
    // Emptied, because Node's agent keeps a connection's first request, and with it this closure, while it is open.
    end: () => finish({ kind: "answer", status, headers, text: Buffer.concat(chunks.splice(0)).toString("utf8") }),
    failed: ({ message, sent, timedOut }) => finish({ kind: "lost", message, sent, timedOut: timedOut === true }),
  });
}
