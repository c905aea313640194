/**
 * Processes of a fleet on NATS that SIGSTOP stops. They read the backlog when they continue, and must make no false
 * verdict.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Message, MessageType } from "../../protocols/messages.ts";
import { decode, MalformedMessage } from "../../protocols/wire.ts";
import { connectNats, type NatsTransport } from "../../services/platform/bus/nats.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { silentLog } from "../../services/platform/process/log.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { until } from "../support/until.ts";
import { FleetWorld } from "./fleet-world.ts";
import { expectRecovery } from "./outage.ts";

const GRACE_MS = 10_000;
/** Renewed every four seconds, so that most of the waiting pulses are ahead of the next heartbeat of a node. */
const LEASE_SECONDS = 16;
/** Longer than two graces: a process that mistakes the backlog for the present finds every node silent. */
const STOP_MS = 22_000;
/** After this a node that died has been found, and a wrong verdict would have been made; the rest follows within it. */
const AFTERWARDS_MS = 3_000;
/** A pulse, and slack for a busy machine. */
const SLACK_MS = 4_000;
const LONG_TEST_MS = 180_000;
const FLAGS = [`--node-monitor-grace-period=${GRACE_MS / 1000}s`, "--watch-blind=2s", "--node-eviction-rate=10"];

const PROCESSES = {
  observer: "observer",
  node: "node",
  zone: "zone",
  rest: "node-writer,pod-writer,taint-manager,ledger,policy",
} as const;

/** What a fleet publishes about nodes and zones on NATS. */
class Sayings {
  readonly unknown = new Set<string>();
  readonly zoneStates = new Set<string>();
  readonly #transport: NatsTransport;

  private constructor(transport: NatsTransport) {
    this.#transport = transport;
    transport.subscribe("vigil.v1.>", (payload) => {
      const message = decode(payload);
      if (!(message instanceof MalformedMessage)) this.#onMessage(message);
    });
  }

  static async of(nats: NatsServer): Promise<Sayings> {
    const around = { clock: realClock(), log: silentLog, metrics: createMetrics() };
    return new Sayings(await connectNats({ servers: [nats.url], name: "tap", ...around }));
  }

  /** Forgets the messages so far. */
  clear(): void {
    this.unknown.clear();
    this.zoneStates.clear();
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  #onMessage(message: Message): void {
    if (isOf(message, "judged.node") && message.body.ready === "Unknown") this.unknown.add(message.body.node);
    if (isOf(message, "asked.condition") && message.body.conditions.length > 0) this.unknown.add(message.body.node);
    if (!isOf(message, "judged.zone")) return;
    const { state, halted } = message.body;
    this.zoneStates.add(halted ? `${state}, halted` : state);
  }
}

function isOf<T extends MessageType>(message: Message, type: T): message is Message<T> {
  return message.type === type;
}

describeWithNats("a fleet with a process for each service", () => {
  const world = new FleetWorld({
    zones: { one: 60, two: 60 },
    leaseSeconds: LEASE_SECONDS,
    tolerationSeconds: 300,
    flags: FLAGS,
  });
  let nats: NatsServer;
  let said: Sayings;
  beforeAll(async () => {
    [nats] = await Promise.all([startNatsServer(), world.begin()]);
    said = await Sayings.of(nats);
    await Promise.all(
      Object.entries(PROCESSES).map(([name, services]) => world.start(name, nats.url, `--services=${services}`)),
    );
    world.fall(world.alive("one").slice(0, 1));
    await until("the dead node is tainted", () => world.record.taints.length === 1);
  });
  afterAll(async () => {
    await said.close();
    await world.end();
    await nats.stop();
  });

  test.for(Object.keys(PROCESSES))(
    "of which that of %s stops: no verdict is wrong, and dead nodes are found",
    { timeout: LONG_TEST_MS },
    async (member) => {
      said.clear();
      world.members.get(member)?.signal("SIGSTOP");
      await pause(STOP_MS / 2);
      const dying = world.alive("two").slice(0, 1);
      world.fall(dying);
      await pause(STOP_MS / 2);
      world.members.get(member)?.signal("SIGCONT");
      await world.untilUnknown(dying, GRACE_MS + SLACK_MS);
      await pause(AFTERWARDS_MS);
      expect(world.aliveOf(said.unknown)).toEqual([]);
      expect([...said.zoneStates]).toEqual(["Normal"]);
      expect(world.wronglyJudged()).toEqual([]);
      const taintedFirst = world.record.taints[0]?.node ?? "";
      expect(world.record.isTainted(taintedFirst)).toBe(true);
    },
  );
});

describeWithNats("a fleet of two processes that share the shards", () => {
  const world = new FleetWorld({
    zones: { one: 280, two: 280 },
    leaseSeconds: LEASE_SECONDS,
    tolerationSeconds: 300,
    flags: [...FLAGS, "--unhealthy-zone-threshold=0.95"],
  });
  let nats: NatsServer;
  beforeAll(async () => {
    [nats] = await Promise.all([startNatsServer(), world.begin()]);
    await Promise.all(["a", "b"].map((member) => world.start(member, nats.url)));
    await pause(GRACE_MS);
  });
  afterAll(async () => {
    await world.end();
    await nats.stop();
  });

  test("whose observer stops: the other takes over, and returns the shards afterwards", {
    timeout: LONG_TEST_MS,
  }, async () => {
    const observer = world.ownerOf("observer", 0);
    const other = observer === "a" ? "b" : "a";
    const stopped = world.members.get(observer);
    await expectRecovery(world, GRACE_MS, {
      logged: { [other]: "a member of the fleet stopped sending pulses" },
      leavesMember: true,
      begin: () => Promise.resolve(stopped?.signal("SIGSTOP")),
      end: () => Promise.resolve(stopped?.signal("SIGCONT")),
    });
    expect(stopped?.logged.map(({ message }) => message)).toContain("cut off from the fleet, gives up its shards");
  });
});
