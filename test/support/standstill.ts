/** A process that stops and continues, as by SIGSTOP and SIGCONT, with any services in it. */
import type { Clock, Wire } from "../../protocols/ports.ts";

type Run = () => void;

/**
 * Delays everything that would have happened in a stopped process. When it continues, all of it happens at once and in
 * Node's order: timers that are due, then the contents of sockets, then immediates.
 */
export class Standstill {
  readonly clock: Clock;
  readonly #timers: Run[] = [];
  readonly #sockets: Run[] = [];
  readonly #immediates: Run[] = [];
  #isStill = false;
  #isKilled = false;

  constructor(clock: Clock) {
    this.clock = {
      monotonicMs: () => clock.monotonicMs(),
      wallMs: () => clock.wallMs(),
      after: (delayMs, fire) => {
        let isCancelled = false;
        const timer = clock.after(delayMs, () =>
          this.#pass(this.#timers, () => {
            if (!isCancelled) fire();
          }),
        );
        const cancel = (): void => {
          isCancelled = true;
          timer.cancel();
        };
        return { cancel };
      },
      soon: (run) => clock.soon(() => this.#pass(this.#immediates, run)),
    };
  }

  /** The wire as the process sees it. */
  wire(wire: Wire): Wire {
    const pass = (run: Run) => this.read(run);
    return {
      send: (request, exchange) =>
        wire.send(request, {
          response: (status, headers) => pass(() => exchange.response(status, headers)),
          data: (chunk) => {
            const kept = chunk.slice();
            pass(() => exchange.data(kept));
          },
          end: () => pass(() => exchange.end()),
          failed: (failure) => pass(() => exchange.failed(failure)),
        }),
    };
  }

  /** Whether the process is suspended now. */
  get isStill(): boolean {
    return this.#isStill;
  }

  /** Reads something from a socket: at once, or when the process continues. */
  read(run: Run): void {
    this.#pass(this.#sockets, run);
  }

  begin(): void {
    this.#isStill = true;
  }

  end(): void {
    this.#isStill = false;
    for (const line of [this.#timers, this.#sockets, this.#immediates]) {
      for (const run of line.splice(0)) if (!this.#isKilled) run();
    }
  }

  /** Kills the process and drops everything that was delayed. */
  kill(): void {
    this.#isKilled = true;
  }

  #pass(line: Run[], run: Run): void {
    if (this.#isStill) line.push(run);
    else run();
  }
}
