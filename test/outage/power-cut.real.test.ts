/** Everything is off for twelve hours. The control plane boots first, and finds the taints of the evening before. */
import { describeOutage } from "./both-controllers.ts";

const CONTROL_PLANE = ["cp-0", "cp-1", "cp-2"];
const WORKERS = Array.from({ length: 10 }, (_, index) => `w-${index}`);
/** Switched off before the others, so that they are tainted when the power is cut. */
const FIRST_OFF = WORKERS.slice(0, 5);
const SPEC = {
  nodes: [...CONTROL_PLANE, ...WORKERS],
  tolerationSeconds: Object.fromEntries(WORKERS.map((node) => [node, 40])),
};
const OFF_SECONDS = 12 * 3600;
/** The controller starts before any kubelet, as one does whose control plane is not on nodes. */
const CONTROL_PLANE_ON_SECONDS = 4;
/** After more than the grace, and before the end of what the pods tolerate. */
const WORKERS_ON_SECONDS = 16;
const OBSERVED_SECONDS = 22;

describeOutage("everything off for 12 h", SPEC, async (cluster) => {
  cluster.silence(...FIRST_OFF);
  await cluster.untilTainted(...FIRST_OFF);
  await cluster.killController();
  cluster.silence(...cluster.nodes);
  const aged = await cluster.aged();
  await cluster.api.kill();
  await aged(OFF_SECONDS);
  await cluster.api.cutPower();
  await cluster.returnPower();
  await cluster.untilAfterReady(CONTROL_PLANE_ON_SECONDS);
  cluster.renew(...CONTROL_PLANE);
  cluster.post(...CONTROL_PLANE);
  await cluster.untilAfterReady(WORKERS_ON_SECONDS);
  const workers = cluster.nodes.filter((name) => !CONTROL_PLANE.includes(name));
  cluster.renew(...workers);
  cluster.post(...workers);
  await cluster.untilWell(...cluster.nodes);
  await cluster.untilAfterReady(OBSERVED_SECONDS);
  return [await cluster.deletions("pods of workers", WORKERS), await cluster.probe()];
});
