/** Whether kubelets reach the API server, and whether it accepts their leases. Faults that overlap each count. */
import type { Stop } from "../../protocols/ports.ts";
import type { HeartbeatKind } from "./heartbeat-history.ts";

/** The access of all kubelets of a cluster. */
export class KubeletAccess {
  #cuts = 0;
  #refusals = 0;

  /** Whether the API server carries out a kubelet's requests, of one kind or at all. */
  accepts(kind?: HeartbeatKind): boolean {
    return this.#cuts === 0 && (kind !== "lease" || this.#refusals === 0);
  }

  /** Keeps every kubelet from the API server until the returned function is called. */
  cut(): Stop {
    this.#cuts += 1;
    return once(() => {
      this.#cuts -= 1;
    });
  }

  /** Refuses every write of a lease until the returned function is called. */
  refuseLeases(): Stop {
    this.#refusals += 1;
    return once(() => {
      this.#refusals -= 1;
    });
  }
}

function once(act: Stop): Stop {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
