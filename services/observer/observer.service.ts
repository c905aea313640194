/** The observer service: of all processes that run it, the one that minds shard 0 observes, for every shard. */
import type { Service } from "../../protocols/ports.ts";
import { Observer } from "./observer.ts";

/** The shard of the observer service whose owner is active. */
const ACTIVE_SHARD = 0;

/** Observes while this process is the active one. */
export const observerService: Service = (io) => {
  let observer: Observer | null = null;
  const end = (): void => {
    observer?.stop();
    observer = null;
  };
  const stopFollowing = io.fleet.follow("observer", {
    gained: (shard) => {
      if (shard === ACTIVE_SHARD) observer ??= new Observer(io);
    },
    lost: (shard) => {
      if (shard === ACTIVE_SHARD) end();
    },
  });
  return () => {
    stopFollowing();
    end();
  };
};
