/** Faults of the network between one process and the API server, and of a server that is slow for long. */
import { isCall, readCall, type Verb } from "../../../services/sandbox/apiserver/routes.ts";
import { API_CUTS, LATENCY_MAX_MS, type Latencies, type StaleReplica } from "../api-path.ts";
import { between, oneOf } from "../chance.ts";
import { lasting, later, type Meddler, type Reach } from "../meddler.ts";

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
      // Mostly the server is slow for every process, sometimes the path of one process.
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
  staleReplica: {
    everySeconds: 60,
    act: (reach, random) => {
      const process = oneOf(random, reach.processes);
      const isRestarted = random() < 0.5;
      if (process.apiPath.isStale) return undefined;
      const catchUp = process.apiPath.leadTo(replicaOf(reach));
      process.apiPath.breakConnections();
      const end = lasting(reach, random, 60, catchUp);
      if (!isRestarted) return end;
      // A process lists from the cache when it starts.
      process.kill();
      const start = later(reach, random, [1, 5], () => process.start());
      return () => {
        end();
        start();
      };
    },
  },
  /**
   * A load balancer routes some new connections of every process to a server with a cache that is stale for minutes.
   */
  staleServers: {
    everySeconds: 90,
    act: (reach, random) => {
      const share = oneOf(random, [0.5, 1]);
      const led = reach.processes.filter(({ apiPath }) => !apiPath.isStale);
      const replica = replicaOf(reach);
      const ends = led.map(({ apiPath }) => apiPath.leadTo(replica, share));
      for (const { apiPath } of led) apiPath.breakConnections();
      reach.count("stale server behind a load balancer");
      return lasting(reach, random, 240, () => {
        for (const end of ends) end();
      });
    },
  },
  cacheSyncLag: {
    everySeconds: 40,
    act: (reach, random) => {
      const lagged = random() < 0.7 ? reach.processes : [oneOf(random, reach.processes)];
      const lagMs = between(random, 500, 8_000);
      for (const { apiPath } of lagged) apiPath.watchLagMs = lagMs;
      return lasting(reach, random, 90, () => {
        for (const { apiPath } of lagged) apiPath.watchLagMs = 0;
      });
    },
  },
} satisfies Record<string, Meddler>;

/** A server with a cache that is stale from now on. It adds its version to a list that is requested from the cache. */
function replicaOf({ world, count }: Reach): StaleReplica {
  const { store, catalog } = world.api;
  const { revision } = store;
  return (request) => {
    const call = readCall(request, catalog);
    if (!isCall(call) || call.verb !== "list" || call.query.get("resourceVersion") !== "0") return null;
    // The state at a compacted version cannot be shown.
    if (store.collection(call.resource.storage).history.after(revision) === null) return null;
    count("stale list answered");
    const path = request.path.replace("resourceVersion=0", `resourceVersion=${revision}&resourceVersionMatch=Exact`);
    return { ...request, path };
  };
}
