/** Keeps the services of a process alive: starts them, starts them anew when they fail, and ends them in order. */
import type { Clock, Io, Log, Metrics, Service, ServiceName, Stop, Timer } from "../../../protocols/ports.ts";
import { guardedIo, ServiceLife } from "./supervisor.guard.ts";

/** This many failures of one service within the window are a crash loop. */
export const FAILURES_MAX = 5;
/** The window, in milliseconds. */
export const FAILURE_WINDOW_MS = 60_000;
/** Pause before the first restart, in milliseconds; doubles with each further failure in the window. */
const RESTART_PAUSE_MS = 100;

/** The services that turn what is observed into asks: they end first. */
const JUDGES: readonly ServiceName[] = ["zone", "node", "taint-manager", "observer"];
/** Those that carry out and record what was asked, in the order in which they end. */
const DOERS: readonly ServiceName[] = ["node-writer", "pod-writer", "ledger"];

/** What a supervisor is made of. */
export interface SupervisorOptions {
  readonly services: ReadonlyMap<ServiceName, Service>;
  /** The ports of a service, asked for once: a service that is started anew goes on with the streams of its bus. */
  readonly ioOf: (name: ServiceName) => Io;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Told of a crash loop, in one line: the process should end with a code that is not 0. */
  readonly fatal: (problem: string) => void;
}

/** The running services of a process. */
export interface Supervisor {
  /** Ends what judges and observes. Writers and ledger go on, so that writes under way are finished and told. */
  stopJudging(): void;
  /** Ends every service that still runs. */
  stop(): void;
}

/** Starts the services. A service that throws loses all it knew and is started anew, from observation. */
export function supervise(options: SupervisorOptions): Supervisor {
  const failures = options.metrics.counter({
    name: "vigil_service_restarts_total",
    help: "Times a service threw and was started anew.",
    labels: ["service"],
  });
  const running = new Map<ServiceName, SupervisedService>();
  for (const [name, service] of options.services) {
    // A series that began with its first failure would hide it from increase().
    failures.add(0, name);
    const counted = { ...options, restarted: () => failures.add(1, name) };
    running.set(name, new SupervisedService(name, service, counted));
  }
  const stopAll = (names: readonly ServiceName[]): void => {
    for (const name of names) running.get(name)?.stop();
  };
  return { stopJudging: () => stopAll(JUDGES), stop: () => stopAll([...JUDGES, ...DOERS]) };
}

class SupervisedService {
  readonly #name: ServiceName;
  readonly #service: Service;
  readonly #options: SupervisorOptions & { readonly restarted: () => void };
  readonly #io: Io;
  /** Instants of its failures within the window, on the monotonic clock. */
  #failedAt: number[] = [];
  #life: ServiceLife | null = null;
  #stopService: Stop = () => {};
  #restart: Timer | null = null;

  constructor(name: ServiceName, service: Service, options: SupervisorOptions & { readonly restarted: () => void }) {
    this.#name = name;
    this.#service = service;
    this.#options = options;
    this.#io = options.ioOf(name);
    this.#start();
  }

  stop(): void {
    this.#restart?.cancel();
    this.#restart = null;
    this.#end();
  }

  #start(): void {
    const life = new ServiceLife((error) => this.#failed(error));
    this.#life = life;
    this.#stopService = () => {};
    life.run(() => {
      this.#stopService = this.#service(guardedIo(this.#io, life));
    });
  }

  #end(): void {
    const life = this.#life;
    this.#life = null;
    if (life === null) return;
    try {
      this.#stopService();
    } catch (error) {
      this.#options.log.error(`${this.#name} failed while it was stopped`, { error });
    }
    life.end();
  }

  #failed(error: unknown): void {
    const { clock, log, fatal, restarted } = this.#options;
    this.#end();
    const nowMs = clock.monotonicMs();
    this.#failedAt = [...this.#failedAt.filter((atMs) => nowMs - atMs < FAILURE_WINDOW_MS), nowMs];
    const failures = this.#failedAt.length;
    if (failures >= FAILURES_MAX) {
      log.error(`${this.#name} failed`, { error });
      fatal(`${this.#name} failed ${failures} times within ${FAILURE_WINDOW_MS / 1000} s; the last: ${String(error)}`);
      return;
    }
    restarted();
    const pauseMs = RESTART_PAUSE_MS * 2 ** (failures - 1);
    log.error(`${this.#name} failed and is started anew from observation`, { error, pauseMs });
    this.#restart = clock.after(pauseMs, () => this.#start());
  }
}
