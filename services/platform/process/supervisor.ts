/** Starts the services of a process, restarts them when they throw, and stops them in order. */
import type { Io, Service, ServiceName, Stop, Timer } from "../../../protocols/ports.ts";
import { guardedIo, ServiceLife } from "./supervisor.guard.ts";

/** This many failures of one service within the window are a crash loop. */
export const FAILURES_MAX = 5;
/** The window of a crash loop, in milliseconds. */
export const FAILURE_WINDOW_MS = 60_000;
/** Pause before the first restart, in milliseconds; it doubles with each further failure in the window. */
const RESTART_PAUSE_MS = 100;

/** The services that observe and judge: they stop first. */
const JUDGES: readonly ServiceName[] = ["zone", "node", "taint-manager", "observer", "policy"];
/** The services that carry out and record requests, in the order in which they stop. */
const DOERS: readonly ServiceName[] = ["node-writer", "pod-writer", "ledger"];

/** The services and their context. */
export interface SupervisorOptions extends Pick<Io, "clock" | "log" | "metrics"> {
  readonly services: ReadonlyMap<ServiceName, Service>;
  /** The ports of a service, requested once: a restarted service continues the streams of its bus. */
  readonly ioOf: (name: ServiceName) => Io;
  /** Called with the problem of a crash loop in one line: the process should end with a code other than 0. */
  readonly fatal: (problem: string) => void;
}

/** The running services of a process. */
export interface Supervisor {
  /** Stops the services that observe and judge. Writers and ledger continue, so that writes under way finish. */
  stopJudging(): void;
  stop(): void;
}

/** Starts the services. A service that throws loses its state and is restarted from observation. */
export function supervise(options: SupervisorOptions): Supervisor {
  const failures = options.metrics.counter({
    name: "vigil_service_restarts_total",
    help: "Times a service threw and was restarted.",
    labels: ["service"],
  });
  const running = new Map<ServiceName, SupervisedService>();
  for (const [name, service] of options.services) {
    // A series that starts with its first failure would hide it from increase().
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
  /** When it failed within the window, on the monotonic clock. */
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
    log.error(`${this.#name} failed and restarts from observation`, { error, pauseMs });
    this.#restart = clock.after(pauseMs, () => this.#start());
  }
}
