/** The plot of a failure that is previewed. */
import { between, oneOf } from "./chance.ts";
import { only, type Plot, SECOND, zone } from "./plots.stage.ts";
import { failAsPreviewed } from "./previews/previewed-failure.ts";

/** The plots by name. */
export const PREVIEW_PLOTS = {
  /** A zone or some of its nodes fall silent in a cluster without other faults, and that was previewed. */
  previewedFailure: {
    latest: "forgedProofs",
    stage: (swarm, random) => ({
      ...swarm,
      zones: [zone(1, between(random, 3, 7), swarm), zone(2, between(random, 3, 5), swarm)],
      podsPerNode: between(random, 1, 3),
      toleration: oneOf(random, ["any", "short", "unequal"]),
      processes: swarm.processes.slice(0, 2),
      profile: { ...swarm.profile, nodeEvictionsPerSecond: oneOf(random, [0.1, 0.5, 1]) },
      faults: only(swarm, new Set(["cordons"] as const)),
      safetyMs: between(random, 220, 280) * SECOND,
    }),
    play: failAsPreviewed,
  },
} satisfies Readonly<Record<string, Plot>>;
