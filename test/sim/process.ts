/**
 * One simulated process of Vigil: the real services on clocks, links and wires that can fail. It can be killed and
 * started again.
 */
import type { Random, ServiceName } from "../../protocols/ports.ts";
import type { Profile } from "../../protocols/profile.ts";
import type { ApiServer } from "../../services/apiserver/apiserver.ts";
import { type Controller, startController } from "../../services/cli/controller.ts";
import { createKube } from "../../services/runtime/kube.ts";
import type { ReadableMetrics } from "../../services/runtime/metrics.ts";
import type { VirtualClock } from "../support/clock.virtual.ts";
import { recordingLog } from "../support/recording-log.ts";
import { CALM_WIRE, FaultyWire, type WireFaults } from "./faulty-wire.ts";
import type { Link, Network } from "./network.ts";
import { ProcessClock } from "./process-clock.ts";

/** Figures that nobody reads: keeping them would be a tenth of a run. */
const UNCOUNTED: ReadableMetrics = {
  counter: () => ({ add: () => {}, remove: () => {} }),
  gauge: () => ({ set: () => {}, remove: () => {} }),
  histogram: () => ({ observe: () => {} }),
  text: async () => "",
};

/** What the world lends a process. */
export interface ProcessWorld {
  readonly clock: VirtualClock;
  readonly network: Network;
  readonly api: ApiServer;
  readonly profile: Profile;
  /** Notes that a situation that matters was met. */
  readonly count: (situation: string) => void;
  /** Told of each death, and of each start but the first. */
  readonly disturbed: (what: "start" | "death") => void;
  /** A stream of chance for a purpose. */
  readonly chance: (purpose: string) => Random;
}

/** How a process's clocks differ from the world's. */
export interface ClockSkew {
  readonly rate: number;
  readonly wallOffsetMs: number;
}

interface Life {
  readonly clock: ProcessClock;
  readonly link: Link;
  readonly wire: FaultyWire;
  readonly controller: Controller;
  readonly log: ReturnType<typeof recordingLog>;
}

/** A process that lives until it is killed, as often as it is started. */
export class SimulatedProcess {
  readonly name: string;
  readonly #services: readonly ServiceName[];
  readonly #world: ProcessWorld;
  readonly #skew: ClockSkew;
  #life: Life | null = null;
  #lives = 0;
  #wireFaults: WireFaults = CALM_WIRE;

  constructor(name: string, services: readonly ServiceName[], world: ProcessWorld, skew: ClockSkew) {
    this.name = name;
    this.#services = services;
    this.#world = world;
    this.#skew = skew;
  }

  get running(): boolean {
    return this.#life !== null;
  }

  /** The link of the present life; null while it is dead. */
  get link(): Link | null {
    return this.#life?.link ?? null;
  }

  get clock(): ProcessClock | null {
    return this.#life?.clock ?? null;
  }

  /** Errors it has logged in the present life: a service failed. */
  get errors(): readonly string[] {
    const lines = this.#life?.log.lines.filter(({ level }) => level === "error") ?? [];
    return lines.map(({ message, fields }) => `${message} ${fields.error instanceof Error ? fields.error.stack : ""}`);
  }

  /** Lets its way to the API server fail. */
  set wireFaults(faults: WireFaults) {
    this.#wireFaults = faults;
    if (this.#life !== null) this.#life.wire.faults = faults;
  }

  start(): void {
    if (this.#life !== null) return;
    this.#lives += 1;
    const { network, api, profile, chance } = this.#world;
    const life = `${this.name}/${this.#lives}`;
    const clock = new ProcessClock(this.#world.clock, this.#skew);
    const link = network.link(life, this.name);
    const random = chance(`wire/${life}`);
    const wire = new FaultyWire({ wire: api.wire, clock, random, writer: this.name, count: this.#world.count });
    if (this.#lives > 1) this.#world.disturbed("start");
    wire.faults = this.#wireFaults;
    const [log, metrics] = [recordingLog(), UNCOUNTED];
    const kube = createKube({ wire, clock, random: chance(`kube/${life}`), log, metrics, profile });
    const controller = startController({
      clock,
      random: chance(`services/${life}`),
      log,
      metrics,
      profile,
      kube,
      transport: link,
      cluster: "sim",
      member: this.name,
      services: this.#services,
      shared: true,
      store: null,
      // A crash loop ends the process; the world starts it again, as a cluster would.
      fatal: () => this.kill(),
    });
    this.#life = { clock, link, wire, controller, log };
  }

  /** Ends it without a word. */
  kill(): void {
    const life = this.#life;
    if (life === null) return;
    this.#life = null;
    this.#world.disturbed("death");
    life.clock.kill();
    life.link.close();
    life.wire.kill();
  }
}
