/** The playground on any clock: an embedded API, hollow nodes, two members of Vigil, and the narration. */
import { nodePolicyDefinition } from "../../../deploy/crd/node-policy-crd.ts";
import type { Io, Kube, Stop } from "../../../protocols/ports.ts";
import { memoryTransport } from "../../platform/bus/memory.ts";
import { createKube } from "../../platform/kube/kube.ts";
import { createMetrics } from "../../platform/process/metrics.ts";
import type { ApiObject } from "../../sandbox/apiserver/api-objects.ts";
import { ApiServer } from "../../sandbox/apiserver/apiserver.ts";
import { storedAs } from "../../sandbox/apiserver/resources.ts";
import { startControllers } from "../../sandbox/controllers/controllers.ts";
import { HollowNodes } from "../../sandbox/hollow/hollow.service.ts";
import { createPods, playgroundNodes } from "../../sandbox/playground/cluster.ts";
import { type Controls, MORTAL_MEMBER, STEADY_MEMBER } from "../../sandbox/playground/controls.ts";
import { Narration } from "../../sandbox/playground/narration.ts";
import { applyPolicy, removePolicy } from "../../sandbox/playground/policy.ts";
import { busOf, type Controller, type ControllerParts } from "../process/controller.ts";
import { type MemberIo, PLAYGROUND_PROFILE, startMember } from "./playground-members.ts";

/** The ports of a playground. */
export type PlaygroundIo = Pick<Io, "clock" | "random" | "log">;

/** A running playground. */
export interface Playground {
  readonly apiserver: ApiServer;
  readonly controls: Controls;
  /** The member that is never killed, for the dashboard. */
  readonly controller: Controller;
  readonly parts: ControllerParts;
  readonly narration: Narration;
  readonly stop: Stop;
}

/** kubelet's lease of 40 s, ten times shorter, so that the story takes minutes. */
const TIMES = { leaseSeconds: 4, statusReportMs: 30_000 };

/** Starts a playground; the nodes join at once. */
export function startPlayground({ clock, random, log }: PlaygroundIo): Playground {
  const apiserver = new ApiServer({ clock, random });
  apiserver.registry.create(storedAs("customresourcedefinitions"), "", nodePolicyDefinition() as ApiObject);
  const stopControllers = startControllers(apiserver, clock);
  const transport = memoryTransport(clock);
  const outside = createKube({
    wire: apiserver.wire,
    clock,
    random,
    log,
    metrics: createMetrics(),
    profile: PLAYGROUND_PROFILE,
  });
  const nodes = new HollowNodes({
    clock,
    kube: outside,
    random,
    log,
    nodes: playgroundNodes(),
    times: TIMES,
    staysDeleted: true,
  });
  const narration = new Narration(PLAYGROUND_PROFILE.nodeMonitorGraceMs, clock);
  const members = new Members({ clock, random, log, transport, wire: apiserver.wire }, outside, nodes, () =>
    narration.reconnected(),
  );
  members.createPods();
  const { parts, controller } = members.steady;
  const unsubscribe = narration.listen(busOf(parts, "playground"));
  const stop = (): void => {
    nodes.shutdown();
    stopControllers();
    members.stop();
    unsubscribe();
  };
  return { apiserver, controls: members, controller, parts, narration, stop };
}

/** What the keys act on: two members, and a client that is never cut off. */
class Members implements Controls {
  readonly nodes: HollowNodes;
  readonly steady: ReturnType<typeof startMember>;
  readonly #io: MemberIo;
  readonly #outside: Kube;
  readonly #reconnected: () => void;
  #mortal: ReturnType<typeof startMember> | null;
  #isBlind = false;
  #hasPolicy = false;

  /** `reconnected` is called when members can reach the API server again. */
  constructor(io: MemberIo, outside: Kube, nodes: HollowNodes, sighted: () => void) {
    this.nodes = nodes;
    this.#reconnected = sighted;
    this.#io = io;
    this.#outside = outside;
    this.steady = startMember(io, STEADY_MEMBER);
    this.#mortal = startMember(io, MORTAL_MEMBER);
  }

  kill(): void {
    this.#mortal?.kill();
    this.#mortal = null;
  }

  restart(): void {
    if (this.#mortal !== null) return;
    this.#mortal = startMember(this.#io, MORTAL_MEMBER);
    if (this.#isBlind) this.#mortal.wire.cut();
  }

  blind(): void {
    this.#isBlind = true;
    for (const member of [this.steady, this.#mortal]) member?.wire.cut();
  }

  unblind(): void {
    if (!this.#isBlind) return;
    this.#isBlind = false;
    this.#reconnected();
    for (const member of [this.steady, this.#mortal]) member?.wire.restore();
  }

  applyPolicy(): void {
    this.#hasPolicy = true;
    applyPolicy(this.#outside);
  }

  removePolicy(): void {
    this.#hasPolicy = false;
    removePolicy(this.#outside);
  }

  createPods(): void {
    createPods(this.#outside);
  }

  state(): ReturnType<Controls["state"]> {
    return { isKilled: this.#mortal === null, isBlind: this.#isBlind, hasPolicy: this.#hasPolicy };
  }

  stop(): void {
    this.#mortal?.kill();
    this.steady.controller.stop();
  }
}
