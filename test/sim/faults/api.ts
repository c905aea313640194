/** Faults of the API server as every process meets them: refusals, timeouts, broken and stale watches. */
import { oneOf } from "../chance.ts";
import { lasting, type Meddler, withWire } from "../meddler.ts";

/** The classes, by name. */
export const API_FAULTS = {
  apiRefusals: { everySeconds: 60, act: (reach, random) => withWire(reach, random, { refusal: random() * 0.6 }) },
  apiTimeouts: { everySeconds: 60, act: (reach, random) => withWire(reach, random, { timeout: random() * 0.4 }) },
  lostReplies: { everySeconds: 60, act: (reach, random) => withWire(reach, random, { lostReply: random() * 0.5 }) },
  watchCuts: {
    everySeconds: 30,
    act: ({ world }, random) => {
      world.api.faults.cutWatches({ how: random() < 0.5 ? "end" : "break" });
      return undefined;
    },
  },
  compaction: {
    everySeconds: 45,
    act: ({ world }) => {
      world.api.faults.compact();
      world.api.faults.cutWatches();
      return undefined;
    },
  },
  staleWatches: {
    everySeconds: 120,
    act: (reach, random) => {
      const storage = oneOf(random, ["leases", "leases", "nodes", "pods"] as const);
      const end = reach.world.api.faults.silenceWatches(storage);
      return lasting(reach, random, 60, () => {
        end();
        // A cache that lost its own watch starts anew: its clients have to as well.
        reach.world.api.faults.compact();
        reach.world.api.faults.cutWatches({ storage });
      });
    },
  },
  apiOutages: {
    everySeconds: 120,
    act: (reach, random) => lasting(reach, random, 60, reach.world.api.faults.refuse()),
  },
  deniedDeletes: {
    everySeconds: 90,
    act: (reach, random) => {
      const fault = { kind: "status", code: 403, message: "admission webhook denied the request" } as const;
      const when = (call: { verb: string }): boolean => call.verb === "delete" && reach.world.writer !== "";
      return lasting(reach, random, 60, reach.world.api.faults.add({ fault, when }));
    },
  },
} satisfies Record<string, Meddler>;
