/** The playground put together on any clock: an embedded API, hollow nodes on it, Vigil on it, and who listens. */
import type { Clock, Kube, Log, Random, ServiceName, Stop } from "../../../protocols/ports.ts";
import { SERVICE_NAMES } from "../../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { type HollowNodes, startHollowNodes } from "../../agent/hollow.service.ts";
import { ApiServer } from "../../apiserver/apiserver.ts";
import { memoryTransport } from "../../runtime/bus.memory.ts";
import { typedBus } from "../../runtime/bus.ts";
import { createKube } from "../../runtime/kube.ts";
import { createMetrics } from "../../runtime/metrics.ts";
import { type Controller, startController } from "../controller.ts";
import { createPods, playgroundNodes } from "./cluster.ts";
import { Facts } from "./facts.ts";

/** What a playground needs. */
export interface PlaygroundIo {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A running playground. */
export interface Playground {
  readonly apiserver: ApiServer;
  readonly nodes: HollowNodes;
  readonly controller: Controller;
  readonly facts: Facts;
  readonly stop: Stop;
}

/** kubelet renews a lease of 40 s each 10 s; here everything is quicker, so that the story takes a minute. */
const TIMES = { leaseSeconds: 4, statusReportMs: 30_000 };

/** Graces and paces to match: silence is noticed after 6 s, and a healthy zone gives up one node in two seconds. */
export const PLAYGROUND_PROFILE: Profile = {
  ...STANDARD_PROFILE,
  nodeMonitorGraceMs: 6_000,
  nodeStartupGraceMs: 8_000,
  nodeEvictionsPerSecond: 0.5,
};

const SERVICES: readonly ServiceName[] = SERVICE_NAMES;

/** Starts a playground; the nodes join at once. */
export function startPlayground(io: PlaygroundIo): Playground {
  const { clock, random, log } = io;
  const apiserver = new ApiServer({ clock, random });
  const profile = PLAYGROUND_PROFILE;
  const metrics = createMetrics();
  const kubeOf = (): Kube =>
    createKube({ wire: apiserver.wire, clock, random, log, metrics: createMetrics(), profile });
  const transport = memoryTransport(clock);
  const naming = { cluster: "playground", member: "playground" };
  const facts = new Facts(profile.nodeMonitorGraceMs);
  const listener = { ...naming, transport, clock, log, metrics, service: "playground" };
  const deafen = facts.listen(typedBus({ ...listener, mailboxMessagesMax: profile.mailboxMessagesMax }));
  const kube = createKube({ wire: apiserver.wire, clock, random, log, metrics, profile });
  const parts = { ...naming, clock, random, log, metrics, profile, transport, services: SERVICES };
  const controller = startController({
    ...parts,
    kube,
    shared: false,
    store: null,
    fatal: (problem) => log.error(problem),
  });
  const hollowKube = kubeOf();
  const nodes = startHollowNodes({ clock, kube: hollowKube, random, log, nodes: playgroundNodes(), times: TIMES });
  createPods(hollowKube);
  const stop = (): void => {
    nodes.shutdown();
    controller.stop();
    deafen();
  };
  return { apiserver, nodes, controller, facts, stop };
}
