/** The parts that every benchmark uses: its command line, its measurements, process usage, and its pods. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { seededRandom } from "../support/random.seeded.ts";
import { until } from "../support/until.ts";
import { ApiserverKubelets } from "./apiserver-kubelets.ts";
import { measurement, quantile, quantiles, tableOf, withMissing } from "./measurements.ts";
import { parseBenchCommand } from "./options.ts";
import { podsOf } from "./pod-template.ts";
import { resetPeak, usageOf } from "./process-usage.ts";

const HELD_MEBIBYTES = 3e8 / 1024 ** 2;

describe("the command line", () => {
  test("names benchmarks and their sizes", () => {
    expect(parseBenchCommand(["steady", "--nodes=1000,5000", "--seconds=5", "--api=real"])).toEqual({
      names: ["steady"],
      options: { nodes: [1000, 5000], windowMs: 5000, api: "real" },
    });
  });

  test.each([
    ["--runs=few", "--runs=few: give a whole number"],
    ["--api=mine", "--api=mine: embedded or real"],
  ])("%s is refused in one line", (word, problem) => {
    expect(() => parseBenchCommand([word])).toThrow(problem);
  });
});

describe("a measurement", () => {
  test("is the median of its runs, between the least and the most", () => {
    expect(measurement("it", "s", [3, 1, 2])).toEqual({ name: "it", unit: "s", median: 2, least: 1, most: 3 });
    expect(measurement("it", "s", [4, 1]).median).toBe(2.5);
  });

  test("of lateness is a quantile of each run", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(quantile(hundred, 0.99)).toBe(99);
    expect(quantiles("late", "ms", [hundred, [7]]).map(({ name, most }) => [name, most])).toEqual([
      ["late, p50", 50],
      ["late, p99", 99],
    ]);
  });
});

describe.runIf(process.platform === "linux")("the usage of this process from Linux", () => {
  test("agrees with what Node reports", () => {
    const { user, system } = process.cpuUsage();
    const { cpuSeconds, rssMebibytes } = usageOf(process.pid);
    expect(Math.abs(cpuSeconds - (user + system) / 1e6)).toBeLessThan(0.5);
    expect(rssMebibytes / (process.memoryUsage.rss() / 1024 ** 2)).toBeCloseTo(1, 0);
  });

  test("forgets the peak after resetPeak", async () => {
    const program =
      "let held = Buffer.alloc(3e8, 1); held = null; gc(); console.log('freed'); setInterval(() => {}, 1e6)";
    const child = spawn(process.execPath, ["--expose-gc", "-e", program]);
    try {
      await once(child.stdout, "data");
      const { pid = 0 } = child;
      await until("the process has returned its memory", () => usageOf(pid).rssMebibytes < HELD_MEBIBYTES);
      expect(usageOf(pid).peakMebibytes).toBeGreaterThan(HELD_MEBIBYTES);
      resetPeak(pid);
      expect(usageOf(pid).peakMebibytes).toBeLessThan(HELD_MEBIBYTES);
    } finally {
      child.kill("SIGKILL");
    }
  });
});

describe("pods of a large cluster", () => {
  const size = { nodes: 3, podsPerNode: 2 };
  const pods = [...podsOf(size, () => 7)].map((stored) => stored.object());

  test("are ready and running, two on each node", () => {
    expect(pods.map(({ spec }) => spec)).toEqual(
      ["n-0", "n-0", "n-1", "n-1", "n-2", "n-2"].map((nodeName) => expect.objectContaining({ nodeName })),
    );
    expect(pods.map(({ status }) => status)).toEqual(pods.map(() => expect.objectContaining({ phase: "Running" })));
  });

  test("differ in name and uid, and name no other object", () => {
    for (const field of ["name", "uid"] as const)
      expect(new Set(pods.map(({ metadata }) => metadata[field])).size).toBe(6);
    expect(JSON.stringify(pods)).not.toContain("name-of-node");
    expect(pods.map(({ metadata }) => metadata.resourceVersion)).toEqual(pods.map(() => "7"));
  });

  test("exist beside nodes without taints, and leases", () => {
    const api = new ApiServer({ clock: new VirtualClock(), random: seededRandom(1) });
    new ApiserverKubelets(api, { ...size, leaseSeconds: 40 }).fill();
    const of = (name: "nodes" | "leases" | "pods") => api.store.collection(name).sorted("");
    expect([of("nodes").length, of("leases").length, of("pods").length]).toEqual([3, 3, 6]);
    expect(of("nodes").map((stored) => stored.object().spec)).toEqual([{}, {}, {}]);
  });
});

test("what has not happened in time is a figure of its side", () => {
  const late = withMissing([0.5, 0.7], 4);
  const measurements = quantiles("4 pods evicted: kube-controller-manager", "s", [late], 60);
  const rows = tableOf({ bench: "versus", load: "real API server", measurements }).split("\n");
  expect(rows.slice(1)).toEqual([
    "  4 pods evicted: kube-controller-manager, p50  0.700 s",
    "  4 pods evicted: kube-controller-manager, p99  not within 60 s",
  ]);
});
