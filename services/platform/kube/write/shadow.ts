/** A Kubernetes port that sees everything and writes nothing: every write is answered as shadowed. */
import type { Kube } from "../../../../protocols/ports.ts";

/** The same port without its writes. `soon` brings the reply after the call has returned, as the port promises. */
export function shadowKube(kube: Kube, soon: (run: () => void) => void = queueMicrotask): Kube {
  return {
    watch: (what, sink) => kube.watch(what, sink),
    read: (ref, done, place) => kube.read(ref, done, place),
    write: (_request, done) => soon(() => done({ outcome: "shadowed", detail: "shadow mode writes nothing" })),
  };
}
