/**
 * Counts what is under way at the Kubernetes API, so that a process can end when its writes have. It changes nothing.
 */
import type { Kube } from "../../../protocols/ports.ts";

/** A Kubernetes port that knows when it is idle. */
export interface DrainableKube {
  readonly kube: Kube;
  /** Calls `done` as soon as no read and no write is under way. */
  whenIdle(done: () => void): void;
}

/** The same port, counted. */
export function drainable(kube: Kube): DrainableKube {
  let underWay = 0;
  let waiting: (() => void)[] = [];
  const counted = <R>(done: (reply: R) => void): ((reply: R) => void) => {
    underWay++;
    return (reply) => {
      underWay--;
      done(reply);
      tell();
    };
  };
  const tell = (): void => {
    if (underWay > 0) return;
    const idle = waiting;
    waiting = [];
    for (const done of idle) done();
  };
  return {
    kube: {
      watch: (what, sink) => kube.watch(what, sink),
      read: (ref, done, place) => kube.read(ref, counted(done), place),
      write: (request, done) => kube.write(request, counted(done)),
    },
    whenIdle(done) {
      waiting.push(done);
      tell();
    },
  };
}
