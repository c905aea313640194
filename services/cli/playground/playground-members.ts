/** The members of Vigil in a playground: two of a fleet, in one process, each with links of its own. */
import { type Io, SERVICE_NAMES, type Stop, type Transport, type Wire } from "../../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import { BreakableWire, MortalTransport } from "../../sandbox/playground/links.ts";
import { type Controller, type ControllerParts, FOLLOWED_NODES_MAX, startController } from "../process/controller.ts";

/** What members need. */
export interface MemberIo extends Pick<Io, "clock" | "random" | "log"> {
  readonly transport: Transport;
  readonly wire: Wire;
}

/** A running member. */
export interface Member {
  readonly parts: ControllerParts;
  readonly controller: Controller;
  /** Its link to the API server. */
  readonly wire: BreakableWire;
  /** Ends it without a goodbye, as kill -9 does. */
  readonly kill: Stop;
}

/** Grace periods and eviction rate for a story of minutes: unknown after 6 s, and a healthy zone taints one in 2 s. */
export const PLAYGROUND_PROFILE: Profile = {
  ...STANDARD_PROFILE,
  nodeMonitorGraceMs: 6_000,
  nodeStartupGraceMs: 8_000,
  nodeEvictionsPerSecond: 0.5,
};

/** Starts a member. */
export function startMember(io: MemberIo, member: string): Member {
  const { clock, random, log } = io;
  const profile = PLAYGROUND_PROFILE;
  const metrics = createMetrics();
  const wire = new BreakableWire(io.wire, clock);
  const transport = new MortalTransport(io.transport);
  const parts: ControllerParts = {
    clock,
    random,
    log,
    metrics,
    profile,
    kube: createKube({ wire, clock, random, log, metrics, profile }),
    transport,
    cluster: "playground",
    member,
    services: SERVICE_NAMES,
    isShared: true,
    store: null,
    followedNodesMax: FOLLOWED_NODES_MAX,
    policies: [],
    fatal: (problem) => log.error(problem),
  };
  const controller = startController(parts);
  const kill = (): void => {
    transport.die();
    wire.die();
    controller.stop();
  };
  return { parts, controller, wire, kill };
}
