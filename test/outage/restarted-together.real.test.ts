/** The controller is killed together with the API server, is away for ten minutes with it, and starts with it. */
import { describeOutage } from "./both-controllers.ts";

const SILENT = ["a-0", "a-1", "a-2"];
const SPEC = {
  nodes: Array.from({ length: 20 }, (_, index) => `a-${index}`),
  tolerationSeconds: Object.fromEntries(SILENT.map((node) => [node, 40])),
};
const AWAY_SECONDS = 600;
/** When the silent nodes are heard again: before the grace after the outage ends. */
const HEARD_SECONDS = 8;
const OBSERVED_SECONDS = 16;

describeOutage("controller and API server away", SPEC, async (cluster) => {
  cluster.silence(...SILENT);
  await cluster.untilTainted(...SILENT);
  const aged = await cluster.aged();
  await Promise.all([cluster.killController(), cluster.api.kill()]);
  await aged(AWAY_SECONDS);
  await cluster.returnPower();
  cluster.renew(...cluster.nodes.filter((name) => !SILENT.includes(name)));
  await cluster.untilAfterReady(HEARD_SECONDS);
  cluster.renew(...SILENT);
  cluster.post(...SILENT);
  await cluster.untilWell(...SILENT);
  await cluster.untilAfterReady(OBSERVED_SECONDS);
  return [await cluster.deletions("pods of nodes that came back", SILENT), await cluster.probe()];
});
