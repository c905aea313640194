/** The playground on any clock: an embedded API, hollow nodes, Vigil, and the narration. */
import { type Io, type Kube, SERVICE_NAMES, type Stop } from "../../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { memoryTransport } from "../../platform/bus/memory.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { createMetrics, type ReadableMetrics } from "../../platform/process/metrics.ts";
import { ApiServer } from "../../sandbox/apiserver/apiserver.ts";
import { startControllers } from "../../sandbox/controllers/controllers.ts";
import { HollowNodes } from "../../sandbox/hollow/hollow.service.ts";
import { createPods, playgroundNodes } from "../../sandbox/playground/cluster.ts";
import { Narration } from "../../sandbox/playground/narration.ts";
import { busOf, type Controller, type ControllerParts, startController } from "../controller.ts";

/** The ports of a playground. */
export type PlaygroundIo = Pick<Io, "clock" | "random" | "log">;

/** A running playground. */
export interface Playground {
  readonly apiserver: ApiServer;
  readonly nodes: HollowNodes;
  readonly controller: Controller;
  readonly parts: ControllerParts;
  readonly narration: Narration;
  readonly stop: Stop;
}

/** kubelet's lease of 40 s, ten times shorter, so that the story takes a minute. */
const TIMES = { leaseSeconds: 4, statusReportMs: 30_000 };

/** Grace periods and eviction rate to match: a node is unknown after 6 s, and a healthy zone taints one in 2 s. */
export const PLAYGROUND_PROFILE: Profile = {
  ...STANDARD_PROFILE,
  nodeMonitorGraceMs: 6_000,
  nodeStartupGraceMs: 8_000,
  nodeEvictionsPerSecond: 0.5,
};

/** Starts a playground; the nodes join at once. */
export function startPlayground({ clock, random, log }: PlaygroundIo): Playground {
  const profile = PLAYGROUND_PROFILE;
  const apiserver = new ApiServer({ clock, random });
  const stopControllers = startControllers(apiserver, clock);
  const kubeOf = (metrics: ReadableMetrics): Kube =>
    createKube({ wire: apiserver.wire, clock, random, log, metrics, profile });
  const metrics = createMetrics();
  const parts: ControllerParts = {
    clock,
    random,
    log,
    metrics,
    profile,
    kube: kubeOf(metrics),
    transport: memoryTransport(clock),
    cluster: "playground",
    member: "playground",
    services: SERVICE_NAMES,
    isShared: false,
    store: null,
    policies: [],
    fatal: (problem) => log.error(problem),
  };
  const narration = new Narration(profile.nodeMonitorGraceMs);
  const unsubscribe = narration.listen(busOf(parts, "playground"));
  const controller = startController(parts);
  const kubelets = kubeOf(createMetrics());
  const nodes = new HollowNodes({
    clock,
    kube: kubelets,
    random,
    log,
    nodes: playgroundNodes(),
    times: TIMES,
    staysDeleted: true,
  });
  createPods(kubelets);
  const stop = (): void => {
    nodes.shutdown();
    stopControllers();
    controller.stop();
    unsubscribe();
  };
  return { apiserver, nodes, controller, parts, narration, stop };
}
