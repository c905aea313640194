/** The fixture of a journey: an API server and a bus, Vigil on them, three steady nodes and one actor. */
import { expect } from "vitest";
import type { Kube, ObjectRef, ServiceName, Wire, WriteRequest } from "../../protocols/ports.ts";
import { type Profile, STANDARD_PROFILE } from "../../protocols/profile.ts";
import { type Controller, startController } from "../../services/cli/process/controller.ts";
import { typedBus } from "../../services/platform/bus/bus.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestKubelet } from "../support/test-kubelet.ts";
import { until } from "../support/until.ts";
import type { JourneyApi, JourneyBus } from "./worlds.ts";

/** Graces short enough to wait for and long enough for a busy machine; everything else in proportion. */
export const PROFILE: Profile = {
  ...STANDARD_PROFILE,
  nodeMonitorGraceMs: 4_000,
  nodeStartupGraceMs: 4_000,
  pulsePeriodMs: 250,
  pulseTimeoutMs: 1_500,
  watchBlindMs: 2_500,
  watchQuietMs: 3_000,
  askRetryMs: 500,
  memberPulseMs: 250,
  memberTimeoutMs: 1_500,
};
const LEASE_PERIOD_MS = 500;
const UNREACHABLE = "node.kubernetes.io/unreachable";
const WITHIN = { withinMs: 30_000, everyMs: 100 };
const STEADY = ["steady-1", "steady-2", "steady-3"];
const SERVICES: readonly ServiceName[] = ["observer", "node", "node-writer", "ledger"];
const ALL_UNKNOWN = ["DiskPressure=Unknown", "MemoryPressure=Unknown", "PIDPressure=Unknown", "Ready=Unknown"];
/** The conditions of a healthy node, sorted. */
export const ALL_WELL = ["DiskPressure=False", "MemoryPressure=False", "PIDPressure=False", "Ready=True"];

interface Shown {
  readonly spec?: { readonly taints?: readonly { readonly key: string; readonly effect: string }[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface EventList {
  readonly items?: readonly { readonly reason?: string; readonly involvedObject?: { readonly name?: string } }[];
}

/** A world with Vigil in it. */
export class JourneyFixture {
  readonly api: JourneyApi;
  readonly bus: JourneyBus;
  readonly actor: TestKubelet;
  /** Nodes for which Unknown was requested. */
  readonly madeUnknown = new Set<string>();
  /** Every write that shadow mode did not send. */
  readonly shadowed: { readonly ask: string; readonly name: string; readonly atMs: number }[] = [];
  readonly #wire: Wire;
  readonly #kube: Kube;
  readonly #kubelets: readonly TestKubelet[];
  readonly #ends: (() => Promise<void> | void)[] = [];

  constructor(api: JourneyApi, bus: JourneyBus) {
    this.api = api;
    this.bus = bus;
    const wire = api.wire();
    this.#wire = wire;
    this.#ends.push(() => wire.close());
    const log = recordingLog();
    this.#kube = createKube({
      wire,
      clock: realClock(),
      random: systemRandom,
      log,
      metrics: createMetrics(),
      profile: PROFILE,
    });
    const names = [...STEADY, "actor"];
    const options = { leasePeriodMs: LEASE_PERIOD_MS, statusPeriodMs: null };
    this.#kubelets = names.map((name) => new TestKubelet(this.#kube, realClock(), { name, ...options }));
    this.actor = this.#kubelets.at(-1) as TestKubelet;
  }

  /** Registers the nodes and records every request to make one Unknown. */
  async begin(): Promise<void> {
    for (const kubelet of this.#kubelets) kubelet.register();
    const transport = await this.bus.connect("tap");
    this.#ends.push(() => transport.close());
    const who = { cluster: "journey", service: "tap", member: "tap", mailboxMessagesMax: 100_000 };
    const tap = typedBus({ transport, clock: realClock(), log: recordingLog(), metrics: createMetrics(), ...who });
    tap.subscribe("asked.condition", "all", ({ body }) => this.madeUnknown.add(body.node));
    tap.subscribe("done.write", "all", ({ body: { ask, name, outcome } }) => {
      if (outcome === "shadowed") this.shadowed.push({ ask, name, atMs: performance.now() });
    });
  }

  /** Starts a process of Vigil; the returned function ends it. */
  async start(
    member: string,
    services: readonly ServiceName[] = SERVICES,
    isShadow = false,
  ): Promise<() => Promise<void>> {
    const log = recordingLog();
    const clock = realClock();
    const metrics = createMetrics();
    const wire = this.api.wire();
    const transport = await this.bus.connect(member);
    const ports = { clock, random: systemRandom, log, metrics, profile: PROFILE };
    const controller: Controller = startController({
      ...ports,
      kube: createKube({ wire, ...ports }),
      transport,
      cluster: "journey",
      member,
      services,
      isShared: true,
      isShadow,
      store: null,
      fatal: (problem) => log.error(problem),
    });
    const end = async (): Promise<void> => {
      controller.stop();
      await transport.close();
      wire.close();
      expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
    };
    this.#ends.push(end);
    return async () => {
      this.#ends.splice(this.#ends.indexOf(end), 1);
      await end();
    };
  }

  async end(): Promise<void> {
    for (const kubelet of this.#kubelets) kubelet.stop();
    for (const end of this.#ends.toReversed()) await end();
    await this.bus.stop();
    await this.api.stop();
  }

  /** Waits until every node is healthy. */
  async allWell(): Promise<void> {
    for (const { name } of this.#kubelets) await this.shows(ALL_WELL, [], name);
  }

  /** Waits until a node has these conditions and taints; by default the actor. */
  async shows(conditions: readonly string[], taints: readonly string[], name = "actor"): Promise<void> {
    let shown = "";
    const wanted = JSON.stringify([conditions, taints.toSorted()]);
    await until(
      `node ${name} shows ${wanted}`,
      async () => {
        const node = (await this.read({ kind: "Node", namespace: "", name })) as Shown | null;
        const has = (node?.status?.conditions ?? []).map(({ type, status }) => `${type}=${status}`).toSorted();
        const carries = (node?.spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).toSorted();
        shown = JSON.stringify([has, carries]);
        return shown === wanted;
      },
      WITHIN,
    ).catch((error: Error) => {
      throw new Error(`${error.message}; it shows ${shown}`);
    });
  }

  /** The steady nodes never became Unknown and have no taint. */
  async expectSteadyWell(): Promise<void> {
    expect([...this.madeUnknown].filter((name) => name !== "actor")).toEqual([]);
    for (const name of STEADY) {
      const node = (await this.read({ kind: "Node", namespace: "", name })) as Shown | null;
      expect(node?.status?.conditions?.find(({ type }) => type === "Ready")?.status).toBe("True");
      expect(node?.spec?.taints ?? []).toEqual([]);
    }
  }

  /** The actor falls silent, is found, gets an Event, returns and is healed. */
  async falls(): Promise<void> {
    this.actor.stop();
    await this.shows(ALL_UNKNOWN, ["node.kubernetes.io/unreachable:NoSchedule"]);
    await until("an Event reports that the node is not ready", () => this.#hasEvent("NodeNotReady"), WITHIN);
    this.actor.resume();
    this.actor.post();
    await this.shows(ALL_WELL, []);
    await this.expectSteadyWell();
  }

  /** Whether there is an Event about the actor with this reason. */
  async #hasEvent(reason: string): Promise<boolean> {
    const { items = [] } = (await get(this.#wire, "/api/v1/namespaces/default/events")) as EventList;
    return items.some((event) => event.reason === reason && event.involvedObject?.name === "actor");
  }

  read(ref: ObjectRef): Promise<unknown> {
    return new Promise((resolve) => {
      this.#kube.read(ref, (reply) => resolve(reply.outcome === "ok" ? reply.object : null));
    });
  }

  patch(body: unknown): Promise<void> {
    const ref = { kind: "Node", namespace: "", name: "actor" } as const;
    return this.#write({ verb: "patch", patch: "strategic", ref, urgency: 0, body });
  }

  /** Binds a pod to the actor that tolerates its taints for so many seconds. */
  addPod(name: string, tolerationSeconds: number): Promise<void> {
    const tolerations = [{ operator: "Exists", effect: "NoExecute", key: UNREACHABLE, tolerationSeconds }];
    const spec = { nodeName: "actor", tolerations, containers: [{ name: "c", image: "none" }] };
    const body = { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec };
    return this.#write({ verb: "create", ref: { kind: "Pod", namespace: "default", name }, urgency: 0, body });
  }

  #write(request: WriteRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#kube.write(request, (reply) => {
        if (reply.outcome === "ok") resolve();
        else reject(new Error(reply.detail));
      });
    });
  }
}

/** The answer of a path, as JSON. */
function get(wire: Wire, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let text = "";
    wire.send(
      { method: "GET", path, headers: {}, body: null },
      {
        response: () => undefined,
        data: (chunk) => {
          text += Buffer.from(chunk).toString();
        },
        end: () => resolve(JSON.parse(text)),
        failed: ({ message }) => reject(new Error(message)),
      },
    );
  });
}
