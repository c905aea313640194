/** The policies of a process, as they arrive message by message. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Bus, ServiceName } from "../../../protocols/ports.ts";
import { typedBus } from "../../../services/platform/bus/bus.ts";
import { memoryTransport } from "../../../services/platform/bus/memory.ts";
import { LeaderFleet } from "../../../services/platform/fleet/leader-fleet.ts";
import { POLICIES_KNOWN_GAUGE, PolicyReceiver } from "../../../services/platform/node-policies/policy-receiver.ts";
import { createMetrics, type ReadableMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { recordingLog } from "../../support/recording-log.ts";

let clock: VirtualClock;
let publisher: Bus;
let receiver: PolicyReceiver;
let changes: (string | null)[];
let metrics: ReadableMetrics;
let log: ReturnType<typeof recordingLog>;

beforeEach(() => receive());

/** Starts the receiver of a process, of one that may stand by if it gets a fleet. */
function receive(fleet?: LeaderFleet): void {
  clock = new VirtualClock();
  const transport = memoryTransport(clock);
  log = recordingLog();
  metrics = createMetrics();
  const shared = { transport, clock, cluster: "test", member: "m", log, metrics };
  publisher = typedBus({ ...shared, service: "policy", mailboxMessagesMax: 100 });
  const bus = typedBus({ ...shared, service: "policies", mailboxMessagesMax: 100 });
  receiver = new PolicyReceiver({ bus, log, clock, metrics, elected: fleet ?? null });
  changes = [];
  receiver.follow((cause) => changes.push(cause));
}

function publishPolicy(policy: string, version: string, pool = policy): void {
  publisher.publish("judged.policy", { policy, version, spec: { selector: { matchLabels: { pool } } } }, null);
  clock.advance(0);
}

function publishSet(versions: Readonly<Record<string, string>>): string | null {
  const policies = Object.entries(versions).map(([policy, version]) => ({ policy, version }));
  const id = publisher.publish("judged.policies", { policies }, null);
  clock.advance(0);
  return id;
}

const names = () => receiver.current()?.policies.map(({ name }) => name) ?? null;

describe("the policies of a process", () => {
  test("are unknown before the first set", () => {
    publishPolicy("gpu", "1");
    expect(receiver.current()).toBeNull();
    expect(changes).toEqual([]);
  });

  test("are known to be none after an empty set", () => {
    const id = publishSet({});
    expect(names()).toEqual([]);
    expect(changes).toEqual([id]);
  });

  test("are logged, and that none is left", () => {
    const said = () => log.lines.map(({ message, fields }) => [message, fields?.policies]);
    publishSet({});
    expect(said()).toEqual([]);
    publishPolicy("gpu", "1");
    publishSet({ gpu: "1" });
    publishSet({});
    publishSet({});
    expect(said()).toEqual([
      ["NodePolicy: in force", "gpu"],
      ["NodePolicy: none is in force any more", undefined],
    ]);
  });

  test("are unknown while one of the set is missing", () => {
    publishPolicy("gpu", "1");
    publishSet({ gpu: "1", spot: "1" });
    expect(receiver.current()).toBeNull();
    publishPolicy("spot", "1");
    expect(names()).toEqual(["gpu", "spot"]);
  });

  test("stay as they are until all of a new set has arrived", () => {
    publishPolicy("gpu", "1", "old");
    publishSet({ gpu: "1" });
    publishSet({ gpu: "2" });
    expect(receiver.current()?.policies[0]?.selector[0]?.values).toEqual(["old"]);
    publishPolicy("gpu", "2", "new");
    expect(receiver.current()?.policies[0]?.selector[0]?.values).toEqual(["new"]);
  });

  test("lose a policy that the set no longer names", () => {
    publishPolicy("gpu", "1");
    publishSet({ gpu: "1" });
    publishSet({});
    expect(names()).toEqual([]);
  });

  test("report a repeated set only once", () => {
    publishPolicy("gpu", "1");
    publishSet({ gpu: "1" });
    publishPolicy("gpu", "1");
    publishSet({ gpu: "1" });
    expect(changes).toHaveLength(1);
  });
});

describe("without the policy service policies", () => {
  const pulses = (services: ServiceName[], more: object = {}): void => {
    publisher.publish("pulse.member", { member: "m", services, since: 1, leaving: false, ...more }, null);
    clock.advance(1_000);
  };

  test("are none after five pulses", () => {
    for (let pulse = 0; pulse < 5; pulse += 1) {
      expect(receiver.current()).toBeNull();
      pulses(["observer", "node"]);
    }
    pulses(["observer", "node"]);
    expect(names()).toEqual([]);
    expect(changes).toEqual([null]);
    expect(log.lines.map(({ message }) => message)).toEqual([expect.stringContaining("no process runs the service")]);
  });

  test("are unknown before the first pulse", () => {
    clock.advance(60_000);
    expect(receiver.current()).toBeNull();
  });

  test("are unknown if an unable process has it", () => {
    for (let pulse = 0; pulse < 3; pulse += 1) pulses(["observer"]);
    pulses(["observer"], { withheld: ["policy"] });
    for (let pulse = 0; pulse < 60; pulse += 1) pulses(["observer"]);
    expect(receiver.current()).toBeNull();
  });

  test("are those that are published later", () => {
    for (let pulse = 0; pulse < 6; pulse += 1) pulses(["observer"]);
    publishPolicy("gpu", "1");
    publishSet({ gpu: "1" });
    expect(names()).toEqual(["gpu"]);
  });
});

describe("a warning about missing policies", () => {
  const warnings = (): number => log.lines.filter(({ message }) => message.includes("no node policies")).length;

  test("comes once, after a quarter of a minute", () => {
    clock.advance(14_000);
    expect(warnings()).toBe(0);
    clock.advance(60_000);
    expect(warnings()).toBe(1);
  });

  test("counts from when a standby leads", () => {
    const fleet = new LeaderFleet("m");
    receive(fleet);
    clock.advance(60_000);
    expect(warnings()).toBe(0);
    fleet.lead();
    clock.advance(14_000);
    expect(warnings()).toBe(0);
    clock.advance(60_000);
    expect(warnings()).toBe(1);
  });
});

test("a metric shows whether the policies are known", () => {
  expect(metrics.gaugeValue(POLICIES_KNOWN_GAUGE)).toBe(0);
  publishSet({});
  expect(metrics.gaugeValue(POLICIES_KNOWN_GAUGE)).toBe(1);
});
