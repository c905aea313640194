/** Finds out how new an API server's store is, and repeats the read until it is answered. */
import type { Clock, Random, Timer, Wire } from "../../../../protocols/ports.ts";
import { type ReaderEnd, readerPauseMs } from "./reader-retry.policy.ts";
import { readStoreVersion } from "./store-version.ts";

/** What a check needs: its ports, and the collection whose version it reads. */
export interface StoreCheckIo {
  readonly wire: Wire;
  readonly clock: Clock;
  readonly random: Random;
  readonly path: string;
  readonly selectors: Readonly<Record<string, string>>;
}

/** Receives the version, once; each failed read before it is reported. */
export interface StoreCheckSink {
  known(version: string): void;
  failed(end: ReaderEnd): void;
}

/** One check, from its start until its answer or its stop. */
export class StoreCheck {
  readonly #io: StoreCheckIo;
  readonly #sink: StoreCheckSink;
  #failures = 0;
  #pause: Timer | null = null;
  #isOpen = true;

  constructor(io: StoreCheckIo, sink: StoreCheckSink) {
    this.#io = io;
    this.#sink = sink;
    this.#read();
  }

  /** Reports nothing from now on. */
  stop(): void {
    this.#isOpen = false;
    this.#pause?.cancel();
  }

  #read(): void {
    readStoreVersion(this.#io, this.#io, (answer) => {
      if (!this.#isOpen) return;
      if (answer.kind === "known") {
        this.stop();
        this.#sink.known(answer.version);
        return;
      }
      this.#failures += 1;
      const pauseMs = readerPauseMs(answer.end, this.#failures, this.#io.random);
      this.#pause = this.#io.clock.after(pauseMs, () => this.#read());
      this.#sink.failed(answer.end);
    });
  }
}
