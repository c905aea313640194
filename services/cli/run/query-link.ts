/**
 * Answers queries over NATS on a separate connection. A client that sends requests without end then delays no message
 * between services:
 *
 *   query ──▶ its turn, which all readers of the process share ──▶ answered
 *        └──▶ more wait already than may ──▶ the connection is closed, with all that NATS holds for it, and a second
 *                                            later there is a new one
 *
 * Meanwhile another process of the fleet answers, or NATS says that there are no responders. An edge: it may await.
 */
import type { Io, Log, Metrics } from "../../../protocols/ports.ts";
import { type MicroService, serveMicro } from "../../platform/bus/nats.micro.ts";
import { connectNats, type NatsOptions, type NatsTransport } from "../../platform/bus/nats.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { DELAY_MS, type ReaderTurns } from "../../platform/process/reader-turns.ts";

const CUT_METRIC = {
  name: "vigil_query_cuts_total",
  help: "How often queries over NATS were cut off for a second because clients asked for too much.",
} as const;

/** How the connection is opened, and what the service is run with. */
export interface QueryLinkOptions extends Pick<Io, "clock" | "log"> {
  readonly nats: Omit<NatsOptions, "clock" | "log" | "metrics">;
  readonly metrics: Metrics;
  readonly turns: ReaderTurns;
}

/** The connection on which one process answers queries. */
export class QueryLink {
  readonly #options: QueryLinkOptions;
  readonly #service: MicroService;
  readonly #cuts: ReturnType<Metrics["counter"]>;
  #link: NatsTransport | null = null;
  #isClosed = false;

  constructor(service: MicroService, options: QueryLinkOptions) {
    this.#service = service;
    this.#options = options;
    this.#cuts = options.metrics.counter(CUT_METRIC);
    void this.#open();
  }

  /** Stops answering. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#link?.close();
  }

  async #open(): Promise<void> {
    const { nats, clock, log, turns } = this.#options;
    // The NATS metrics and the lines of its log are those of the bus.
    const quiet: Log = { ...log, info: (message, fields) => log.debug(message, fields) };
    const own = { clock, log: quiet, metrics: createMetrics() };
    const link = await connectNats({ ...nats, ...own, waitOnFirstConnect: true }).catch(() => null);
    if (link === null || this.#isClosed) {
      await link?.close();
      if (!this.#isClosed) this.#openLater();
      return;
    }
    this.#link = link;
    serveMicro(link.connection, this.#service, { clock, log, turns, overwhelmed: () => this.#cut(link) });
  }

  #cut(link: NatsTransport): void {
    this.#cuts.add(1);
    this.#options.log.warn("clients ask more over NATS than is answered; queries are cut off for a second");
    this.#link = null;
    void link.connection.close();
    this.#openLater();
  }

  #openLater(): void {
    this.#options.clock.after(DELAY_MS, () => {
      if (!this.#isClosed) void this.#open();
    });
  }
}
