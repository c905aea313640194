/**
 * One request whose whole answer is wanted at once, with a deadline. What the answer means is decided in
 * kube.outcome.policy.ts.
 */
import type { Clock, HttpRequest, Wire } from "../../../../protocols/ports.ts";

/** What a request came to: a whole answer, or none. */
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
      /** Whether the server may have seen the request. */
      readonly sent: boolean;
      readonly timedOut: boolean;
      /** Whether we did not send it because its turn came too late. */
      readonly isLate?: boolean;
    };

/** Sends a request and calls `done` once, with the whole answer or after `timeoutMs` without it. */
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
    end: () => finish({ kind: "answer", status, headers, text: Buffer.concat(chunks).toString("utf8") }),
    failed: ({ message, sent, timedOut }) => finish({ kind: "lost", message, sent, timedOut: timedOut === true }),
  });
}
