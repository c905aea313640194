/** Faults of the API server as every process meets them: refusals, timeouts, broken and stale watches. */
import type { Fault } from "../../support/faulty-apiserver.ts";
import { between, oneOf } from "../chance.ts";
import { lasting, type Meddler, withWire } from "../meddler.ts";

/** What a flaky server answers. */
const FLAWS: readonly Fault[] = [
  { kind: "status", code: 500 },
  { kind: "status", code: 503 },
  { kind: "status", code: 504 },
  { kind: "status", code: 429, retryAfterSeconds: 1 },
  { kind: "lostRequest" },
  { kind: "lostReply" },
];

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
        // A cache that lost its own watch starts again, and its clients have to as well.
        reach.world.api.faults.compact();
        reach.world.api.faults.cutWatches({ storage });
      });
    },
  },
  /** Watches that stay open and send nothing any more and are never repaired: Vigil has to open new ones. */
  silentWatches: {
    everySeconds: 90,
    act: (reach, random) => {
      reach.world.api.faults.silenceOpenWatches(oneOf(random, ["leases", "nodes", "pods"] as const));
      reach.count("watches silent for good");
      return undefined;
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
  listRefusals: {
    everySeconds: 90,
    act: (reach, random) => {
      const { api } = reach.world;
      const retryAfterSeconds = between(random, 1, 5);
      const fault = { kind: "status", code: 429, retryAfterSeconds } as const;
      const end = api.faults.add({
        fault,
        when: ({ verb, query }) => {
          // A list that may come from the cache needs no read from the server's store.
          const isRefused = verb === "list" && query.get("resourceVersion") !== "0";
          if (isRefused) reach.count("fresh list refused");
          return isRefused;
        },
      });
      // Watches that cannot resume need such a list.
      api.faults.compact();
      api.faults.cutWatches();
      return lasting(reach, random, 60, end);
    },
  },
  writeConflicts: {
    everySeconds: 40,
    act: (reach, random) => {
      const share = 0.1 + 0.6 * random();
      const end = reach.world.api.faults.add({
        fault: { kind: "status", code: 409 },
        when: ({ verb }) => {
          const isRefused = verb === "patch" && reach.world.writer !== "" && random() < share;
          if (isRefused) reach.count("PATCH in conflict");
          return isRefused;
        },
      });
      return lasting(reach, random, 60, end);
    },
  },
  flakyApi: {
    everySeconds: 20,
    act: (reach, random) => {
      const share = 0.5 + 0.5 * random();
      const ends = FLAWS.map((fault) =>
        reach.world.api.faults.add({ fault, when: () => reach.world.writer !== "" && random() < share / FLAWS.length }),
      );
      reach.count("burst of API errors");
      return lasting(reach, random, 6, () => {
        for (const end of ends) end();
      });
    },
  },
} satisfies Record<string, Meddler>;
