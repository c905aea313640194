/**
 * The observer service. The process that owns shard 0 observes all shards; the others are standbys that can continue
 * from it.
 */
import type { Service } from "../../protocols/ports.ts";
import { Observer } from "./observer.ts";
import { Standby } from "./standby.ts";

/** The shard of the observer service whose owner is active. */
const ACTIVE_SHARD = 0;

/** Runs an Observer while this process owns the active shard, and a Standby otherwise. */
export const observerService: Service = (io) => {
  let observer: Observer | null = null;
  let standby: Standby | null = null;
  const begin = (): void => {
    observer ??= new Observer(io, standby);
    standby?.stop();
    standby = null;
  };
  const end = (): void => {
    observer?.stop();
    observer = null;
  };
  const stopFollowing = io.fleet.follow("observer", {
    gained: (shard) => {
      if (shard === ACTIVE_SHARD) begin();
    },
    lost: (shard) => {
      if (shard !== ACTIVE_SHARD) return;
      standby = new Standby(io, observer);
      end();
    },
  });
  if (observer === null) standby = new Standby(io);
  return () => {
    stopFollowing();
    end();
    standby?.stop();
  };
};
