/** Reads one value from a registry of metrics, as a scrape would. */
import type { ReadableMetrics } from "../../services/platform/process/metrics.ts";

/**
 * The sum over all series of a metric whose labels include the given ones; 0 when there is none. Throws for an
 * unregistered metric: a misspelt name must not read as 0.
 */
export async function metricValue(
  metrics: ReadableMetrics,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const text = await metrics.text();
  const families = [name, name.replace(/_(?:bucket|count|sum)$/, "")];
  if (!families.some((family) => text.includes(`# TYPE ${family} `))) throw new Error(`there is no metric ${name}`);
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => wanted.every((pair) => line.includes(pair)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}
