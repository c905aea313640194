/** Faults of the network between one process and the API server, and of a server that is slow for long. */
import type { Verb } from "../../../services/apiserver/routes.ts";
import { API_CUTS, LATENCY_MAX_MS, type Latencies } from "../api-path.ts";
import { between, oneOf } from "../chance.ts";
import { lasting, type Meddler } from "../meddler.ts";

const VERBS: readonly Verb[] = ["get", "list", "watch", "create", "patch", "delete"];

/** The classes, by name. */
export const API_PATH_FAULTS = {
  apiCuts: {
    everySeconds: 60,
    act: (reach, random) => {
      const { apiPath } = oneOf(random, reach.processes);
      const cut = oneOf(random, API_CUTS);
      const outcome = oneOf(random, ["goOn", "break"] as const);
      if (apiPath.cut !== null) return undefined;
      const repair = apiPath.sever(cut);
      return lasting(reach, random, 120, () => repair(outcome));
    },
  },
  slowApi: {
    everySeconds: 40,
    act: (reach, random) => {
      // Mostly the server is slow, and so for everybody; sometimes the path of one process.
      const slowed = random() < 0.7 ? reach.processes : [oneOf(random, reach.processes)];
      const latencies: Latencies = Object.fromEntries(
        VERBS.map((verb) => [verb, random() < 0.3 ? 0 : between(random, 200, LATENCY_MAX_MS)]),
      );
      const ends = slowed.map(({ apiPath }) => apiPath.slow(latencies));
      return lasting(reach, random, 120, () => {
        for (const end of ends) end();
      });
    },
  },
} satisfies Record<string, Meddler>;
