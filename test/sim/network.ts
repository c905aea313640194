/**
 * The bus of a simulated fleet: one server in the middle and a lossy link to every process. It carries bytes and does
 * not know the messages.
 */
import type { Clock, Random, Stop, Transport } from "../../protocols/ports.ts";
import { SubjectTree } from "../../services/structures/subject-tree.ts";

/** The present faults of links. Chances are 0 to 1 for each message and receiver. */
export interface LinkFaults {
  readonly loss: number;
  readonly doubling: number;
  /** The chance that a message is late and others overtake it. */
  readonly lateness: number;
  readonly latenessMaxMs: number;
  /** Delay of every message. */
  readonly delayMaxMs: number;
}

/** Links that lose, double and delay nothing. */
export const CALM_LINKS: LinkFaults = { loss: 0, doubling: 0, lateness: 0, latenessMaxMs: 0, delayMaxMs: 0 };

/** Which directions of a link are cut. */
export interface Cut {
  readonly up: boolean;
  readonly down: boolean;
}

const OPEN: Cut = { up: false, down: false };
/** A client notices a dead connection after two pings, 5 s apart. */
const NOTICE_MS = 10_000;

/** What happens to one message on its way. */
export interface Interposition {
  /** Passes the message on to a process at once, later or never. */
  readonly pass: (member: string, deliver: () => void) => void;
  /** Called once it was passed on to every process that reads it. */
  readonly passed?: () => void;
}

/** Decides about a message before it reaches any process; null where it does nothing to it. */
export type Interposer = (subject: string, payload: Uint8Array, from: Link) => Interposition | null;

interface Subscriber {
  readonly link: Link;
  readonly receive: (payload: Uint8Array, subject: string) => void;
  open: boolean;
}

/** The process at the end of a link. */
export interface LinkEnd {
  readonly name: string;
  /** Name of the process. */
  readonly member: string;
  /** Delivers what has arrived to the process; later where the process is suspended. */
  readonly read: (take: () => void) => void;
}

/** One process's link to the server in the middle. */
export class Link implements Transport {
  readonly name: string;
  /** Name of the process. */
  readonly member: string;
  readonly #read: (take: () => void) => void;
  readonly #network: Network;
  readonly #watchers = new Set<(connected: boolean) => void>();
  readonly #subscribers = new Set<Stop>();
  cut: Cut = OPEN;
  /** Until this instant nothing reaches the process: it is a slow consumer. */
  stalledUntilMs = 0;
  #connected = true;
  #closed = false;

  constructor({ name, member, read }: LinkEnd, network: Network) {
    this.name = name;
    this.member = member;
    this.#read = read;
    this.#network = network;
  }

  publish(subject: string, payload: Uint8Array): void {
    if (this.#connected && !this.cut.up && !this.#closed) this.#network.carry(subject, payload, this);
  }

  subscribe(pattern: string, receive: (payload: Uint8Array, subject: string) => void): Stop {
    const subscriber: Subscriber = { link: this, receive, open: true };
    const remove = this.#network.add(pattern, subscriber);
    const stop = (): void => {
      subscriber.open = false;
      this.#subscribers.delete(stop);
      remove();
    };
    this.#subscribers.add(stop);
    return stop;
  }

  connected(): boolean {
    return this.#connected;
  }

  onConnection(changed: (connected: boolean) => void): Stop {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  /** Reports a changed connection once the process would notice it. */
  notice(connected: boolean): void {
    this.read(() => {
      if (connected === this.#connected || this.#closed) return;
      this.#connected = connected;
      for (const changed of this.#watchers) changed(connected);
    });
  }

  /** Delivers what has arrived to the process. */
  read(take: () => void): void {
    this.#read(take);
  }

  /** Ends the process: it sends and receives nothing any more. */
  close(): void {
    this.#closed = true;
    for (const stop of this.#subscribers) stop();
    this.#watchers.clear();
  }
}

/** The server in the middle and all links to it. */
export class Network {
  readonly #clock: Clock;
  /** Each kind of fault draws from its own stream. */
  readonly #random: Readonly<Record<"loss" | "doubling" | "lateness" | "delay", Random>>;
  readonly #tree = new SubjectTree<Subscriber>();
  faults: LinkFaults = CALM_LINKS;
  /** Whether a message of one process never reaches another; null while the bus is not split. */
  #isApart: ((from: string, to: string) => boolean) | null = null;
  /** Called for every message that a split keeps from a process. */
  withheld: ((subject: string, from: Link, to: Link) => void) | null = null;
  /** The subjects that reach no process now. */
  muted: (subject: string) => boolean = () => false;
  /** What lies in wait for messages. The first that does something to a message decides about it. */
  readonly interposers = new Set<Interposer>();
  /** Called for every message that reaches the server in the middle. */
  crossed: ((subject: string, payload: Uint8Array, from: Link) => void) | null = null;
  /** Called for every pattern that a process begins to follow. */
  followed: ((pattern: string, by: Link) => void) | null = null;
  /** Called when a split of the bus has ended. */
  rejoined: (() => void) | null = null;
  /** Called for every message that reaches a process. */
  arrived: ((subject: string, payload: Uint8Array, at: Link) => void) | null = null;

  constructor({ clock, chance }: { clock: Clock; chance: (purpose: string) => Random }) {
    this.#clock = clock;
    const stream = (purpose: string): Random => chance(`network/${purpose}`);
    this.#random = {
      loss: stream("loss"),
      doubling: stream("doubling"),
      lateness: stream("lateness"),
      delay: stream("delay"),
    };
  }

  /** A new link, for one process that starts. */
  link(end: LinkEnd): Link {
    return new Link(end, this);
  }

  /**
   * Cuts a link in one or both directions; the process notices missing pings. The returned function repairs the link.
   */
  cut(link: Link, cut: Cut): Stop {
    link.cut = cut;
    const notice = this.#clock.after(NOTICE_MS, () => link.notice(false));
    return () => {
      notice.cancel();
      link.cut = OPEN;
      link.notice(true);
    };
  }

  /** Splits the bus: no message passes between processes that are apart, and each side continues by itself. */
  split(isApart: (from: string, to: string) => boolean): void {
    this.#isApart = isApart;
  }

  /** Ends a split, if there is one. */
  rejoin(): void {
    if (this.#isApart === null) return;
    this.#isApart = null;
    this.rejoined?.();
  }

  add(pattern: string, subscriber: Subscriber): Stop {
    this.followed?.(pattern, subscriber.link);
    return this.#tree.add(pattern, subscriber);
  }

  carry(subject: string, payload: Uint8Array, from: Link): void {
    this.crossed?.(subject, payload, from);
    if (this.muted(subject)) return;
    const interposition = this.interposers.size === 0 ? null : this.#interposed(subject, payload, from);
    this.#tree.match(subject, (subscriber) => {
      if (this.#isApart?.(from.member, subscriber.link.member) === true) {
        this.withheld?.(subject, from, subscriber.link);
        return;
      }
      if (this.#strikes("loss")) return;
      const isDoubled = this.#strikes("doubling");
      const deliver = (): void => {
        this.#deliver(subscriber, subject, payload);
        if (isDoubled) this.#deliver(subscriber, subject, payload);
      };
      if (interposition === null) deliver();
      else interposition.pass(subscriber.link.member, deliver);
    });
    interposition?.passed?.();
  }

  /** The processes that read a subject. */
  readersOf(subject: string): string[] {
    const members = new Set<string>();
    this.#tree.match(subject, ({ link }) => members.add(link.member));
    return [...members];
  }

  #interposed(subject: string, payload: Uint8Array, from: Link): Interposition | null {
    for (const interpose of this.interposers) {
      const interposition = interpose(subject, payload, from);
      if (interposition !== null) return interposition;
    }
    return null;
  }

  #deliver(subscriber: Subscriber, subject: string, payload: Uint8Array): void {
    const { link, receive } = subscriber;
    const arrive = (): void => {
      if (link.cut.down) return;
      link.read(() => {
        if (!subscriber.open) return;
        this.arrived?.(subject, payload, link);
        receive(payload, subject);
      });
    };
    const stallMs = link.stalledUntilMs - this.#clock.monotonicMs();
    const delayMs = Math.max(stallMs, this.#delay());
    if (delayMs > 0) this.#clock.after(delayMs, arrive);
    else this.#clock.soon(arrive);
  }

  #delay(): number {
    if (this.#strikes("lateness")) return this.#random.delay() * this.faults.latenessMaxMs;
    return this.faults.delayMaxMs === 0 ? 0 : this.#random.delay() * this.faults.delayMaxMs;
  }

  #strikes(fault: "loss" | "doubling" | "lateness"): boolean {
    const probability = this.faults[fault];
    return probability > 0 && this.#random[fault]() < probability;
  }
}
