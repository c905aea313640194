/** When a memory counts as one that cannot be written, and who is told. */
import { beforeEach, describe, expect, test } from "vitest";
import { MemoryHealth } from "../../../services/platform/process/memory-health.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { metricValue } from "../../support/metric-value.ts";
import { recordingLog } from "../../support/recording-log.ts";

const DENIED = { outcome: "denied", detail: "configmaps is forbidden" } as const;
const FAILED = { outcome: "failed", detail: "no answer" } as const;
const OK = { outcome: "ok" } as const;

let world: ReturnType<typeof healthWorld>;

function healthWorld() {
  const clock = new VirtualClock();
  const log = recordingLog();
  const metrics = createMetrics();
  const health = new MemoryHealth({ clock, log, metrics });
  const gauge = (memory: string) => metricValue(metrics, "vigil_memory_unwritten", { memory });
  const lines = (level: string) => log.lines.filter((line) => line.level === level).map(({ message }) => message);
  return { clock, health, gauge, lines, metrics };
}

beforeEach(() => {
  world = healthWorld();
});

describe("a denied write", () => {
  test("is warned about at once, and once until it succeeds", async () => {
    const { health, gauge, lines } = world;
    health.report("freezes", DENIED);
    health.report("freezes", DENIED);
    expect(lines("warn")).toHaveLength(1);
    expect(lines("warn")[0]).toContain("the memory of freezes cannot be written: after a restart of all processes");
    expect(await gauge("freezes")).toBe(1);
    health.report("freezes", OK);
    expect(await gauge("freezes")).toBe(0);
    expect(lines("info")).toEqual(["the memory of freezes is written again"]);
    health.report("freezes", DENIED);
    expect(lines("warn")).toHaveLength(2);
  });

  test("is a problem with the server's words", () => {
    world.health.report("limits", DENIED);
    expect(world.health.problems()).toEqual([
      "the memory of limits cannot be written: configmaps is forbidden; " +
        "after a restart of all processes every circuit breaker opens",
    ]);
  });
});

describe("a write without a decision of the server", () => {
  test("counts after 30 s without a success", async () => {
    const { health, clock, gauge } = world;
    health.report("freezes", FAILED);
    clock.advance(29_999);
    health.report("freezes", FAILED);
    expect(await gauge("freezes")).toBe(0);
    clock.advance(1);
    health.report("freezes", FAILED);
    expect(await gauge("freezes")).toBe(1);
  });

  test("counts from the last success", async () => {
    const { health, clock, gauge } = world;
    for (const reply of [FAILED, OK, FAILED]) {
      clock.advance(20_000);
      health.report("freezes", reply);
    }
    clock.advance(29_999);
    health.report("freezes", FAILED);
    expect(await gauge("freezes")).toBe(0);
  });
});

describe("a memory on many objects", () => {
  test("counts them, and warns about the first", async () => {
    const { health, gauge, lines } = world;
    for (const node of ["a", "b", "c"]) health.report("node-records", DENIED, node);
    health.report("node-records", OK, "a");
    expect(await gauge("node-records")).toBe(2);
    expect(lines("warn")).toHaveLength(1);
  });

  test("forgets those that another process writes now", async () => {
    const { health, gauge } = world;
    for (const node of ["a", "b"]) health.report("node-records", DENIED, node);
    health.forget("node-records", (node) => node === "a");
    expect(await gauge("node-records")).toBe(1);
  });

  test("does not count what is not needed any more", async () => {
    const { health, gauge } = world;
    health.report("node-records", DENIED, "a");
    health.report("node-records", { outcome: "refused" }, "a");
    expect(await gauge("node-records")).toBe(0);
  });
});

test("a writer that ends exports nothing", async () => {
  world.health.report("freezes", DENIED);
  world.health.stop();
  expect(await world.metrics.text()).not.toContain("vigil_memory_unwritten{");
});
