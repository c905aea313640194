/** The transport over core NATS, between processes. It stores nothing: a message that cannot leave now is lost. */
import {
  type ConnectionOptions,
  connect,
  errors,
  type NatsConnection,
  type Status,
  type Subscription,
} from "@nats-io/transport-node";
import type { Clock, Io, Log, Metrics, Stop, Transport } from "../../../protocols/ports.ts";
import { type LimitedWarn, limitedWarn } from "../process/log.limited.ts";
import { readNatsAddresses } from "./nats.address.ts";
import { authenticatorOf, type NatsCredentialFiles, type NatsTlsFiles, tlsOf } from "./nats.credentials.ts";

/** The client leaves a server after two unanswered pings, this many milliseconds apart. */
const PING_INTERVAL_MS = 5000;
const GREETING_TIMEOUT_MS = 5000;
/** Pause before the same server is dialled again, and the random part that spreads the processes. */
const REDIAL_MS = 500;
const REDIAL_JITTER_MS = 500;
const FIRST_REDIAL_MS = 1000;
/** Retry interval of a forbidden subscription: permissions can be granted while the process runs. */
const FORBIDDEN_RETRY_MS = 30_000;
/** How long `close` waits for the last messages to leave. */
const DRAIN_TIMEOUT_MS = 2000;
/** Pauses between warnings about one outage: they double from the first to the second. */
const WARNING_PAUSE_MS = 1000;
const WARNING_PAUSE_MAX_MS = 60_000;

/** How to reach and authenticate to NATS. */
export interface NatsOptions extends NatsCredentialFiles, Pick<Io, "clock" | "log" | "metrics"> {
  /** `nats://host:4222`, `tls://…`; an address may carry `user:password@` or `token@`. */
  readonly servers: readonly string[];
  /** The name of this connection in the server's listings. */
  readonly name: string;
  /** Whether to wait for a server that is not reachable yet. Wrong credentials fail at once in any case. */
  readonly waitOnFirstConnect?: boolean;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  readonly tls?: NatsTlsFiles;
  /** 5000 by default; tests shorten it. */
  readonly pingIntervalMs?: number;
}

/** Connects to NATS. Rejects with an Error of one line that names the address and the problem. */
export async function connectNats(options: NatsOptions): Promise<NatsTransport> {
  const settings = settingsOf(options);
  const { clock, log } = options;
  const warn = limitedWarn(log, clock, WARNING_PAUSE_MS, WARNING_PAUSE_MAX_MS);
  for (;;) {
    try {
      return new NatsTransport(await connect(settings), options);
    } catch (error) {
      const problem = connectProblem(error, settings.servers);
      const isFinal = error instanceof errors.AuthorizationError || error instanceof errors.InvalidArgumentError;
      if (options.waitOnFirstConnect !== true || isFinal) throw new Error(problem, { cause: error });
      warn(`${problem}; trying again`, {});
      await new Promise<void>((resolve) => clock.after(FIRST_REDIAL_MS, resolve));
    }
  }
}

function settingsOf(options: NatsOptions): ConnectionOptions {
  const { servers, tls, ...credentials } = readNatsAddresses(options.servers);
  const { user = credentials.user, password = credentials.password, token = credentials.token } = options;
  const requiresTls = tls || options.tls !== undefined;
  const authenticator = authenticatorOf(options);
  return {
    servers: [...servers],
    name: options.name,
    pingInterval: options.pingIntervalMs ?? PING_INTERVAL_MS,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: REDIAL_MS,
    reconnectJitter: REDIAL_JITTER_MS,
    reconnectJitterTLS: REDIAL_JITTER_MS,
    timeout: GREETING_TIMEOUT_MS,
    ignoreAuthErrorAbort: true,
    ...(requiresTls ? { tls: tlsOf(options.tls ?? {}) } : {}),
    ...(authenticator === null ? {} : { authenticator }),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { pass: password }),
    ...(token === undefined ? {} : { token }),
  };
}

function connectProblem(error: unknown, servers: ConnectionOptions["servers"]): string {
  const at = `NATS at ${String(servers)}`;
  if (error instanceof errors.AuthorizationError) return `${at} refuses our credentials: ${error.message}`;
  return `${at} cannot be reached: ${error instanceof Error ? error.message : String(error)}`;
}

type Receive = (payload: Uint8Array, subject: string) => void;

/** One NATS subscription shared by all receivers of this process: they get the same bytes (admission.ts). */
interface NatsListener {
  readonly pattern: string;
  readonly receivers: Set<{ readonly receive: Receive }>;
  subscription: Subscription | null;
}

/** A transport over NATS. */
export class NatsTransport implements Transport {
  /** The underlying connection, for JetStream. */
  readonly connection: NatsConnection;
  /** Resolves when the connection has ended for good: with the reason, or without a value after `close`. */
  readonly closed: Promise<Error | undefined>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #warn: LimitedWarn;
  readonly #metrics: ReturnType<typeof natsMetrics>;
  readonly #watchers = new Set<(connected: boolean) => void>();
  readonly #listeners = new Map<string, NatsListener>();
  #connected = true;

  constructor(connection: NatsConnection, { clock, log, metrics }: NatsOptions) {
    this.connection = connection;
    this.#clock = clock;
    this.#log = log;
    this.#warn = limitedWarn(log, clock, WARNING_PAUSE_MS, WARNING_PAUSE_MAX_MS);
    this.#metrics = natsMetrics(metrics);
    this.#metrics.connected.set(1);
    this.closed = connection.closed().then((error) => error ?? undefined);
    log.info("connected to NATS", { server: connection.getServer(), version: connection.info?.version });
    void this.#followStatus();
  }

  publish(subject: string, payload: Uint8Array): void {
    if (!this.connected()) return;
    try {
      this.connection.publish(subject, payload);
    } catch (error) {
      // For example a message larger than this server allows. The sender must not fail because of it.
      this.#noteError(error instanceof Error ? error : new Error(String(error)));
    }
  }

  subscribe(pattern: string, receive: Receive): Stop {
    const listener = this.#listeners.get(pattern) ?? this.#newListener(pattern);
    const receiver = { receive };
    listener.receivers.add(receiver);
    return () => {
      if (listener.receivers.delete(receiver) && listener.receivers.size === 0) this.#end(listener);
    };
  }

  connected(): boolean {
    return this.#connected && !this.connection.isClosed() && !this.connection.isDraining();
  }

  onConnection(changed: (connected: boolean) => void): Stop {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** Resolves when the server has received everything published so far; rejects when the connection is lost. */
  flush(): Promise<void> {
    return this.connection.flush();
  }

  /** Sends what was published, for two seconds at most, then ends the connection. */
  async close(): Promise<void> {
    if (this.connected()) {
      const late = new Promise<void>((resolve) => this.#clock.after(DRAIN_TIMEOUT_MS, resolve));
      await Promise.race([this.connection.drain(), late]).catch((error) => this.#warn(String(error), {}));
    }
    await this.connection.close();
    this.#becomes(false);
  }

  #newListener(pattern: string): NatsListener {
    const listener: NatsListener = { pattern, receivers: new Set(), subscription: null };
    this.#listeners.set(pattern, listener);
    this.#listen(listener);
    return listener;
  }

  #end(listener: NatsListener): void {
    this.#listeners.delete(listener.pattern);
    if (!this.connection.isClosed()) listener.subscription?.unsubscribe();
    listener.subscription = null;
  }

  #listen(listener: NatsListener): void {
    if (this.connection.isClosed() || this.connection.isDraining()) return;
    listener.subscription = this.connection.subscribe(listener.pattern, {
      callback: (error, message) => {
        if (error !== null) this.#clock.after(FORBIDDEN_RETRY_MS, () => this.#listenAgain(listener));
        else for (const { receive } of listener.receivers) this.#deliver(receive, message.data, message.subject);
      },
    });
  }

  #listenAgain(listener: NatsListener): void {
    if (listener.receivers.size > 0) this.#listen(listener);
  }

  /** Catches exceptions of a receiver: in the client they would stop the reading of the socket. */
  #deliver(receive: Receive, payload: Uint8Array, subject: string): void {
    try {
      receive(payload, subject);
    } catch (error) {
      this.#log.error("a receiver of NATS messages failed", { subject, error });
    }
  }

  async #followStatus(): Promise<void> {
    for await (const status of this.connection.status()) this.#note(status);
  }

  #note(status: Status): void {
    const { type } = status;
    if (type === "disconnect" || type === "close") this.#becomes(false);
    else if (type === "reconnect") this.#becomes(true);
    else if (type === "error") this.#noteError(status.error);
    else if (type === "ldm") this.#log.info("NATS server is about to stop", { server: status.server });
    else if (type === "staleConnection") this.#warn("NATS server no longer answers pings", {});
  }

  #becomes(connected: boolean): void {
    if (connected === this.#connected) return;
    this.#connected = connected;
    this.#metrics.connected.set(connected ? 1 : 0);
    if (connected) this.#metrics.reconnects.add(1);
    const server = this.connection.isClosed() ? "none" : this.connection.getServer();
    if (connected) this.#log.info("NATS connection is back", { server });
    else if (!this.connection.isClosed()) this.#log.warn("NATS connection is lost", { server });
    for (const changed of this.#watchers) changed(connected);
  }

  #noteError(error: Error): void {
    if (error instanceof errors.PermissionViolationError) {
      const { operation, subject } = error;
      this.#metrics.violations.add(1, operation);
      this.#warn(`NATS forbids our role the ${operation} on ${subject}`, { operation, subject });
      return;
    }
    this.#metrics.errors.add(1, error.name);
    this.#warn(`NATS reports an error: ${error.message}`, { error: error.name });
  }
}

function natsMetrics(metrics: Metrics) {
  const labelled = (name: string, help: string, label: string) => metrics.counter({ name, help, labels: [label] });
  return {
    connected: metrics.gauge({ name: "vigil_nats_connected", help: "1 while connected to NATS." }),
    reconnects: metrics.counter({ name: "vigil_nats_reconnects_total", help: "Reconnections." }),
    violations: labelled(
      "vigil_nats_permission_violations_total",
      "Operations that NATS refused for lack of permission.",
      "operation",
    ),
    errors: labelled("vigil_nats_errors_total", "Other errors from NATS.", "error"),
  };
}
