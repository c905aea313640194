/** Counts the Kubernetes requests in flight, so that a process can end once its writes have. */
import type { Kube } from "../../../protocols/ports.ts";

/** A Kubernetes port that reports when it is idle. */
export interface DrainableKube {
  readonly kube: Kube;
  /** Calls `done` as soon as no read and no write is in flight. */
  whenIdle(done: () => void): void;
}

/** Counts the requests of a port. */
export function drainable(kube: Kube): DrainableKube {
  let inFlight = 0;
  let waiting: (() => void)[] = [];
  const counted = <R>(done: (reply: R) => void): ((reply: R) => void) => {
    inFlight++;
    return (reply) => {
      inFlight--;
      done(reply);
      notifyIfIdle();
    };
  };
  const notifyIfIdle = (): void => {
    if (inFlight > 0) return;
    const idle = waiting;
    waiting = [];
    for (const done of idle) done();
  };
  return {
    kube: {
      watch: (what, sink, options) => kube.watch(what, sink, options),
      read: (ref, done, place) => kube.read(ref, counted(done), place),
      readShown: (what, ref, done, need) => kube.readShown(what, ref, counted(done), need),
      write: (request, done) => kube.write(request, counted(done)),
      minorVersion: (done) => kube.minorVersion(counted(done)),
      leaseHistory: (fromVersion, done) => kube.leaseHistory(fromVersion, counted(done)),
      componentLeases: (done) => kube.componentLeases(counted(done)),
    },
    whenIdle(done) {
      waiting.push(done);
      notifyIfIdle();
    },
  };
}
