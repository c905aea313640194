/** The metrics port over prom-client. */
import { expect, test } from "vitest";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { metricValue } from "../../support/metric-value.ts";

test("counters add, gauges hold the last value, histograms sort into buckets, by label", async () => {
  const metrics = createMetrics();
  const counter = metrics.counter({ name: "c_total", help: "c", labels: ["kind"] });
  counter.add(2, "a");
  counter.add(3, "a");
  counter.add(1, "b");
  const gauge = metrics.gauge({ name: "g", help: "g" });
  gauge.set(5);
  gauge.set(4);
  const histogram = metrics.histogram({ name: "h", help: "h", labels: ["kind"], buckets: [1, 2] });
  for (const value of [0.5, 1.5, 9]) histogram.observe(value, "a");
  expect(await metricValue(metrics, "c_total", { kind: "a" })).toBe(5);
  expect(await metricValue(metrics, "c_total")).toBe(6);
  expect(await metricValue(metrics, "g")).toBe(4);
  expect(await metricValue(metrics, "h_bucket", { kind: "a", le: "2" })).toBe(2);
  expect(await metricValue(metrics, "h_count", { kind: "a" })).toBe(3);
});

test("a gauge without labels returns its last value", () => {
  const metrics = createMetrics();
  expect(metrics.gaugeValue("g")).toBeNull();
  metrics.gauge({ name: "g", help: "g" }).set(5);
  metrics.gauge({ name: "l", help: "l", labels: ["kind"] }).set(5, "a");
  expect([metrics.gaugeValue("g"), metrics.gaugeValue("l")]).toEqual([5, null]);
});

test("a count is exported once, however often metrics are read", async () => {
  const counted = createMetrics();
  const counter = counted.counter({ name: "c_total", help: "c", labels: ["kind"] });
  expect(await metricValue(counted, "c_total")).toBe(0);
  counter.add(2, "a");
  counter.add(0, "b");
  for (const _ of ["once", "twice"]) expect(await metricValue(counted, "c_total", { kind: "a" })).toBe(2);
  counter.add(1, "a");
  expect(await metricValue(counted, "c_total", { kind: "a" })).toBe(3);
  expect(await counted.text()).toContain('c_total{kind="b"} 0');
});

test("a removed series is not exported and starts again from zero", async () => {
  const metrics = createMetrics();
  const counter = metrics.counter({ name: "c_total", help: "c", labels: ["zone"] });
  const gauge = metrics.gauge({ name: "g", help: "g", labels: ["zone", "state"] });
  for (const zone of ["a", "b"]) counter.add(2, zone);
  for (const zone of ["a", "b"]) gauge.set(1, zone, "Normal");
  await metrics.text();
  counter.add(5, "a");
  counter.remove("a");
  gauge.remove("a", "Normal");
  expect(await metrics.text()).not.toContain('"a"');
  expect(await metricValue(metrics, "c_total", { zone: "b" })).toBe(2);
  counter.add(1, "a");
  gauge.set(3, "a", "Normal");
  expect(await metricValue(metrics, "c_total", { zone: "a" })).toBe(1);
  expect(await metricValue(metrics, "g", { zone: "a" })).toBe(3);
});

test("a counter refuses to decrease", () => {
  const counter = createMetrics().counter({ name: "c_total", help: "c" });
  for (const value of [-1, Number.NaN]) expect(() => counter.add(value)).toThrow("c_total: a counter only grows");
});

test("a name declared again returns the same metric; another kind is refused", async () => {
  const metrics = createMetrics();
  const options = { name: "c_total", help: "c" };
  metrics.counter(options).add(1);
  metrics.counter(options).add(1);
  expect(await metricValue(metrics, "c_total")).toBe(2);
  expect(() => metrics.gauge(options)).toThrow("already been registered");
});

test("a registry for a process exports its CPU and memory", async () => {
  const text = await createMetrics({ process: true }).text();
  expect(text).toContain("process_cpu_seconds_total");
  expect(text).toContain("process_resident_memory_bytes");
});
