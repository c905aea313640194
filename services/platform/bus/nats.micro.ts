/**
 * A NATS micro service (ADR-32, github.com/nats-io/nats-architecture-and-design): endpoints that answer requests, and
 * the `$SRV` subjects by which `nats micro ls`, `info` and `stats` find it. The processes of a fleet are instances of
 * one service: each answers for itself on `$SRV`, and one of them answers each request.
 */
import { headers, type Msg, type NatsConnection } from "@nats-io/transport-node";
import type { Clock, Log } from "../../../protocols/ports.ts";
import { printable } from "../process/printable.ts";
import type { ReaderTurns } from "../process/reader-turns.ts";

/** What an endpoint answers: a payload, or a problem in one line with a code as HTTP has them. */
export type MicroAnswer = { readonly payload: string } | { readonly code: number; readonly problem: string };

/** One endpoint of a service. */
export interface MicroEndpoint {
  readonly name: string;
  readonly subject: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly answer: (payload: string) => MicroAnswer | Promise<MicroAnswer>;
}

/** A service, and which instance of it this is. */
export interface MicroService {
  readonly name: string;
  /** One token of a subject, unique among the instances. */
  readonly id: string;
  /** As semver.org has it. */
  readonly version: string;
  readonly description: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly endpoints: readonly MicroEndpoint[];
}

/** Only one instance in this queue group receives a request; the name is ADR-32's. */
const QUEUE = "q";
/** An answer goes to an inbox: with another reply subject a request could make Vigil publish anywhere. */
const INBOX = "_INBOX.";
const TYPE = "io.nats.micro.v1";
const NANOSECONDS = 1_000_000;

/** What an endpoint has done so far; times in nanoseconds, as ADR-32 wants them. */
interface EndpointStats {
  num_requests: number;
  num_errors: number;
  last_error: string;
  processing_time: number;
}

/**
 * Answers on a connection, each request in its turn, until that is closed or clients send too many requests: then it
 * answers nothing more and calls `overwhelmed` once.
 */
export function serveMicro(connection: NatsConnection, service: MicroService, io: MicroIo): void {
  new RunningService(connection, service, io).listen();
}

/** What a service is run with. */
export interface MicroIo {
  readonly clock: Clock;
  readonly log: Log;
  readonly turns: Pick<ReaderTurns, "request">;
  readonly overwhelmed: () => void;
}

class RunningService {
  readonly #connection: NatsConnection;
  readonly #service: MicroService;
  readonly #io: MicroIo;
  readonly #started: string;
  readonly #stats: ReadonlyMap<string, EndpointStats>;
  #isOverwhelmed = false;

  constructor(connection: NatsConnection, service: MicroService, io: MicroIo) {
    this.#connection = connection;
    this.#service = service;
    this.#io = io;
    this.#started = new Date(io.clock.wallMs()).toISOString();
    this.#stats = new Map(
      service.endpoints.map(({ name }) => [
        name,
        { num_requests: 0, num_errors: 0, last_error: "", processing_time: 0 },
      ]),
    );
  }

  listen(): void {
    this.#discovery();
    for (const endpoint of this.#service.endpoints) {
      this.#subscribe(endpoint.subject, { queue: QUEUE }, (message) => this.#answer(endpoint, message));
    }
  }

  #discovery(): void {
    const { name, id, version, metadata, description, endpoints } = this.#service;
    const identity = { name, id, version, metadata };
    const facts = endpoints.map((endpoint) => ({
      name: endpoint.name,
      subject: endpoint.subject,
      queue_group: QUEUE,
      metadata: endpoint.metadata,
    }));
    const answers: Readonly<Record<string, () => object>> = {
      PING: () => ({ type: `${TYPE}.ping_response`, ...identity }),
      INFO: () => ({ type: `${TYPE}.info_response`, ...identity, description, endpoints: facts }),
      STATS: () => ({
        type: `${TYPE}.stats_response`,
        ...identity,
        started: this.#started,
        endpoints: endpoints.map((endpoint) => this.#statsOf(endpoint)),
      }),
    };
    for (const [verb, answer] of Object.entries(answers)) {
      for (const subject of [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`]) {
        this.#subscribe(subject, {}, async (message) => this.#send(message, { payload: JSON.stringify(answer()) }));
      }
    }
  }

  #statsOf({ name, subject }: MicroEndpoint): object {
    const stats = this.#stats.get(name);
    const average = Math.round((stats?.processing_time ?? 0) / Math.max(1, stats?.num_requests ?? 0));
    return { name, subject, queue_group: QUEUE, ...stats, average_processing_time: average };
  }

  async #answer({ name, subject, answer }: MicroEndpoint, message: Msg): Promise<void> {
    const { clock, log } = this.#io;
    const startedMs = clock.monotonicMs();
    const answered = await Promise.resolve()
      .then(() => answer(message.string()))
      .catch((error: unknown): MicroAnswer => {
        log.error("a query failed", { subject, error });
        return { code: 500, problem: "the query failed; see the log of this process" };
      });
    const sent = this.#sized(answered);
    const stats = this.#stats.get(name);
    if (stats !== undefined) {
      stats.num_requests += 1;
      stats.processing_time += Math.round((clock.monotonicMs() - startedMs) * NANOSECONDS);
      if ("problem" in sent) {
        stats.num_errors += 1;
        stats.last_error = `${sent.code}:${sent.problem}`;
      }
    }
    this.#send(message, sent);
  }

  #send(message: Msg, answer: MicroAnswer): void {
    if (this.#connection.isClosed()) return;
    if ("payload" in answer) message.respond(answer.payload);
    else message.respond("", { headers: problemHeaders(answer) });
  }

  /** The answer, or that it is larger than the server accepts. */
  #sized(answer: MicroAnswer): MicroAnswer {
    const bytesMax = this.#connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (!("payload" in answer)) return answer;
    const bytes = Buffer.byteLength(answer.payload);
    if (bytes <= bytesMax) return answer;
    return { code: 413, problem: `the answer has ${bytes} bytes, this NATS takes ${bytesMax}: lower the limit` };
  }

  #subscribe(subject: string, options: { readonly queue?: string }, answer: (message: Msg) => Promise<void>): void {
    this.#connection.subscribe(subject, {
      ...options,
      callback: (error, message) => {
        // A refused subscription is reported by the connection's status.
        if (error === null && message.reply?.startsWith(INBOX)) this.#onRequest(() => answer(message));
      },
    });
  }

  /** Requests that arrive beyond the limit are dropped unread. */
  #onRequest(answer: () => Promise<void>): void {
    if (this.#isOverwhelmed) return;
    const isAccepted = this.#io.turns.request({
      begin: (done) => void answer().finally(done),
      refuse: () => {},
      cut: () => {},
    });
    if (isAccepted) return;
    this.#isOverwhelmed = true;
    this.#io.overwhelmed();
  }
}

/** ADR-32 puts a problem into headers. */
function problemHeaders({ code, problem }: { readonly code: number; readonly problem: string }) {
  const fields = headers();
  fields.set("Nats-Service-Error", printable(problem));
  fields.set("Nats-Service-Error-Code", String(code));
  return fields;
}
