/** The API server is away for longer than the countdowns of pods run on. Some of their nodes come back meanwhile. */
import { setTimeout as pause } from "node:timers/promises";
import { describeOutage } from "./both-controllers.ts";
import { GRACE_SECONDS } from "./outage-cluster.ts";

const BACK = ["a-0", "a-1", "a-2"];
/** One whose countdown has more than the grace left when the API server goes away, and one with less. */
const DEAD = ["a-3", "a-4"];
const SILENT = [...BACK, ...DEAD];
const SPEC = {
  nodes: Array.from({ length: 20 }, (_, index) => `a-${index}`),
  tolerationSeconds: { "a-0": 25, "a-1": 25, "a-2": 25, "a-3": 25, "a-4": 12 },
};
/** How much longer than the countdowns the API server is away. */
const BEYOND_MS = 5_000;
/** When the nodes that came back post their status: before the grace after the outage ends. */
const POSTED_SECONDS = 9;
/** Stamps of the API are whole seconds. */
const EARLY_SECONDS = 2;
const LATE_SECONDS = 8;

describeOutage("API server away while countdowns run", SPEC, async (cluster) => {
  cluster.silence(...SILENT);
  const dueAt = await cluster.untilTainted(...SILENT);
  const awayAt = Date.now();
  await cluster.api.kill();
  const restMs = (node: string) => (dueAt.get(node) ?? Number.NaN) - awayAt;
  await pause(Math.max(...SILENT.map(restMs)) + BEYOND_MS);
  // All renew in the same second, as kubelets do whose connections break at once.
  cluster.silence(...cluster.nodes);
  await cluster.returnPower();
  cluster.renew(...cluster.nodes.filter((name) => !DEAD.includes(name)));
  await cluster.untilAfterReady(POSTED_SECONDS);
  cluster.post(...BACK);
  await cluster.untilWell(...BACK);
  const ofTheDead = DEAD.map(async (node) => {
    const restSeconds = Math.floor(restMs(node) / 1000);
    const dueSeconds = Math.max(restSeconds, GRACE_SECONDS);
    const within = { fromSeconds: dueSeconds - EARLY_SECONDS, toSeconds: dueSeconds + LATE_SECONDS };
    await cluster.untilDeleted(node, within.toSeconds);
    // Upstream drops a deletion that fails.
    return {
      ...(await cluster.deletions(`pod of a dead node, ${restSeconds} s left`, [node], within)),
      failsUpstream: true,
    };
  });
  return [
    await cluster.deletions("pods of nodes that came back", BACK),
    ...(await Promise.all(ofTheDead)),
    await cluster.probe(),
  ];
});
