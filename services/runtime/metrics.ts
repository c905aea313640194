/** Metrics in Prometheus' text format. What they count is the services' affair. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { MetricOptions, Metrics } from "../../protocols/ports.ts";

/** Metrics that can be read out. */
export type ReadableMetrics = Metrics & {
  /** All of them in Prometheus' text format. */
  text(): Promise<string>;
};

/** How often the delay of the event loop is sampled for `nodejs_eventloop_lag_*`, in milliseconds. */
const LOOP_SAMPLE_MS = 100;

/**
 * Creates a registry of metrics; with `process` it also holds this process's CPU, memory, event loop and descriptors.
 */
export function createMetrics(options: { readonly process?: boolean } = {}): ReadableMetrics {
  const register = new Registry();
  if (options.process === true) collectDefaultMetrics({ register, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  const declared = new Map<string, unknown>();
  const once = <M>(kind: string, { name, labels }: MetricOptions, declare: () => M): M => {
    const signature = `${kind} ${name} ${(labels ?? []).join()}`;
    const metric = declared.get(signature) ?? declare();
    declared.set(signature, metric);
    return metric as M;
  };
  return {
    counter: (metric) =>
      once("counter", metric, () => {
        const child = childrenOf(new Counter(configured(metric, register)));
        return { add: (value: number, ...labels: string[]) => child(labels).inc(value) };
      }),
    gauge: (metric) =>
      once("gauge", metric, () => {
        const child = childrenOf(new Gauge(configured(metric, register)));
        return { set: (value: number, ...labels: string[]) => child(labels).set(value) };
      }),
    histogram: (metric) =>
      once("histogram", metric, () => {
        const child = childrenOf(new Histogram({ ...configured(metric, register), buckets: [...metric.buckets] }));
        return { observe: (value: number, ...labels: string[]) => child(labels).observe(value) };
      }),
    text: () => register.metrics(),
  };
}

function configured({ name, help, labels }: MetricOptions, register: Registry) {
  return { name, help, labelNames: [...(labels ?? [])], registers: [register] };
}

/** Keeps the child of each combination of label values, because prom-client hashes them anew on every call. */
function childrenOf<C>(metric: { labels(...values: string[]): C }): (labels: string[]) => C {
  const children = new Map<string, C>();
  return (labels) => {
    const key = labels.join("\n");
    const child = children.get(key) ?? metric.labels(...labels);
    children.set(key, child);
    return child;
  };
}
