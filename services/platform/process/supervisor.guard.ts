/**
 * Guards the ports of one run of a service: catches what its callbacks throw, and lets nothing reach it after its end.
 */
import type {
  Bus,
  Clock,
  Fleet,
  Io,
  Kube,
  Stop,
  Watch,
  Watched,
  WatchOptions,
  WatchSink,
} from "../../../protocols/ports.ts";

/** One run of a service, from its start until it stops or fails. */
export class ServiceLife {
  readonly #failed: (error: unknown) => void;
  readonly #releases = new Set<Stop>();
  #alive = true;
  #depth = 0;

  /** `failed` is called once, with the exception that ended this run. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Ends this run and releases everything that it uses at its ports. */
  end(): void {
    this.#alive = false;
    for (const release of this.#releases) release();
    this.#releases.clear();
  }

  /** Runs code of the service. An exception in a nested call unwinds the outer one too, then ends this run. */
  run(work: () => void): void {
    if (!this.#alive) return;
    this.#depth++;
    try {
      work();
    } catch (error) {
      if (this.#depth > 1) throw error;
      this.end();
      this.#failed(error);
    } finally {
      this.#depth--;
    }
  }

  /** Wraps a callback of the service, so that it runs guarded. */
  guard<A extends unknown[]>(callback: (...parts: A) => void): (...parts: A) => void {
    return (...parts) => this.run(() => callback(...parts));
  }

  /** Calls a release function at the end of this run; the returned function calls it now. */
  onEnd(release: Stop): Stop {
    this.#releases.add(release);
    return () => {
      if (this.#releases.delete(release)) release();
    };
  }
}

/** The same ports, guarded for one run of a service. */
export function guardedIo(io: Io, life: ServiceLife): Io {
  const { clock, bus, kube, fleet, policies } = io;
  return {
    ...io,
    clock: guardedClock(clock, life),
    bus: guardedBus(bus, life),
    kube: guardedKube(kube, life),
    fleet: guardedFleet(fleet, life),
    policies: {
      current: () => policies.current(),
      follow: (changed) => life.onEnd(policies.follow(life.guard(changed))),
    },
  };
}

function guardedClock(clock: Clock, life: ServiceLife): Clock {
  return {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    machineAheadMs: () => clock.machineAheadMs?.() ?? 0,
    after: (delayMs, fire) => clock.after(delayMs, life.guard(fire)),
    soon: (run) => clock.soon(life.guard(run)),
  };
}

function guardedBus(bus: Bus, life: ServiceLife): Bus {
  return {
    publish: (type, body, cause) => bus.publish(type, body, cause),
    subscribe: (type, shard, receive) => life.onEnd(bus.subscribe(type, shard, life.guard(receive))),
    latest: (type) => {
      const latest = bus.latest(type);
      return { take: () => latest.take(), stop: life.onEnd(latest.stop) };
    },
    onGap: (lost) => life.onEnd(bus.onGap(life.guard(lost))),
    connected: () => bus.connected(),
  };
}

function guardedKube(kube: Kube, life: ServiceLife): Kube {
  return {
    watch<K extends keyof Watched>(what: K, sink: WatchSink<Watched[K]>, options?: WatchOptions): Watch<Watched[K]> {
      const guarded: WatchSink<Watched[K]> = {
        changed: life.guard((object, waitedMs) => sink.changed(object, waitedMs)),
        gone: life.guard((key, last) => sink.gone(key, last)),
        state: life.guard((now) => sink.state(now)),
        absent: life.guard(() => sink.absent?.()),
      };
      const watch = kube.watch(what, guarded, options);
      const stop = life.onEnd(() => watch.stop());
      return {
        state: () => watch.state(),
        held: (namespace, name) => watch.held(namespace, name),
        confirmedAt: () => watch.confirmedAt(),
        version: () => watch.version(),
        relist: (reason) => watch.relist(reason),
        refresh: (reason) => watch.refresh(reason),
        stop,
      };
    },
    read: (ref, done, place) => kube.read(ref, life.guard(done), place),
    readShown: (what, ref, done, need) => kube.readShown(what, ref, life.guard(done), need),
    write: (request, done) => kube.write(request, life.guard(done)),
    minorVersion: (done) => kube.minorVersion(life.guard(done)),
    leaseHistory: (fromVersion, done) => kube.leaseHistory(fromVersion, life.guard(done)),
    componentLeases: (done) => kube.componentLeases(life.guard(done)),
  };
}

function guardedFleet(fleet: Fleet, life: ServiceLife): Fleet {
  return {
    member: fleet.member,
    owns: (service, shard) => fleet.owns(service, shard),
    follow(service, follower) {
      const gained = life.guard((shard: number) => follower.gained(shard));
      const lost = life.guard((shard: number) => follower.lost(shard));
      return life.onEnd(fleet.follow(service, { gained, lost }));
    },
  };
}
