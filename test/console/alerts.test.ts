/** The alert rules and the Grafana dashboard: every metric they name exists, and alerts fire when they should. */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { anchorsOf } from "../docs-site/page-links.ts";
import { metricsIn, ROOT, read, unknownMetrics } from "./documented-metrics.ts";

/** The process metrics that prom-client adds. */
const PROCESS_METRIC = /\b(?:process|nodejs)_/;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

const RULES = "deploy/prometheus/vigil.rules.yaml";
const rules = (parse(read(RULES)) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);

describe("alert rules", () => {
  test.each(rules)(
    "$alert names real metrics, a severity, its meaning and what to do",
    ({ expr, labels, annotations }) => {
      expect(metricsIn(expr).length).toBeGreaterThan(0);
      expect(unknownMetrics(expr + annotations.description)).toEqual([]);
      expect(labels.severity).toMatch(/^(?:info|warning|critical)$/);
      expect(annotations.summary.length).toBeGreaterThan(10);
      expect(annotations.description.length).toBeGreaterThan(40);
    },
  );

  test("lead by runbook_url to their place in docs/alerts.md", () => {
    const answered = anchorsOf(read("docs/alerts.md")).filter((anchor) => anchor.startsWith("vigil"));
    const page = "https://github.com/OWNER/NAME/blob/main/docs/alerts.md#";
    expect(answered.map((anchor) => page + anchor)).toEqual(rules.map(({ annotations }) => annotations.runbook_url));
    expect(answered).toEqual(rules.map(({ alert }) => alert.toLowerCase()));
  });

  test("fire and stay silent in promtool as their tests expect", ({ skip }) => {
    const promtool = (process.env.PATH ?? "")
      .split(delimiter)
      .map((folder) => join(folder, "promtool"))
      .find(existsSync);
    if (promtool === undefined) return skip("promtool not found: apt-get install prometheus");
    const folder = mkdtempSync(join(tmpdir(), "rules-"));
    cpSync(join(ROOT, RULES), join(folder, "vigil.rules.yaml"));
    cpSync(join(import.meta.dirname, "alert-cases.yaml"), join(folder, "cases.yaml"));
    const verdict = execFileSync(promtool, ["test", "rules", "cases.yaml"], { cwd: folder, encoding: "utf8" });
    rmSync(folder, { recursive: true });
    expect(verdict).toContain("SUCCESS");
  });
});

describe("the dashboard", () => {
  interface Panel {
    readonly id: number;
    readonly title: string;
    readonly type: string;
    readonly description?: string;
    readonly gridPos: { readonly x: number; readonly w: number };
    readonly targets?: readonly { readonly expr: string }[];
  }
  const { panels } = JSON.parse(read("deploy/grafana/vigil.json")) as { panels: readonly Panel[] };
  const shown = panels.filter(({ type }) => type !== "row");

  test.each(shown)("shows metrics that exist: $title", ({ targets = [], description, gridPos }) => {
    expect(targets.length).toBeGreaterThan(0);
    for (const { expr } of targets) {
      expect(unknownMetrics(expr)).toEqual([]);
      if (metricsIn(expr).length === 0) expect(expr).toMatch(PROCESS_METRIC);
    }
    expect(description).toMatch(/\.$/);
    expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });

  test("shows process metrics of Vigil only", () => {
    const exprs = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const ofProcesses = exprs.filter((expr) => PROCESS_METRIC.test(expr));
    expect(ofProcesses.length).toBeGreaterThan(0);
    for (const expr of ofProcesses) expect(expr).toMatch(/ and on \(job, instance\) vigil_\w+$/);
  });

  test("has windows for scrapes a minute apart, as the alerts have", () => {
    const exprs = [...rules, ...panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) => expr);
    const seconds = { s: 1, m: 60, h: 3600 };
    const windows = exprs.flatMap((expr) => [...expr.matchAll(/\[(\d+)([smh])\]/g)]);
    const spans = windows.map(([, count, unit]) => Number(count) * seconds[unit as keyof typeof seconds]);
    expect(spans.length).toBeGreaterThan(10);
    expect(Math.min(...spans)).toBeGreaterThanOrEqual(120);
  });

  test.each([
    ["vigil_outage", "VigilNoNodeHeard"],
    ['vigil_policy_held_nodes{field="ceiling"}', "VigilCeilingReached"],
    ["vigil_console_refused_total", "VigilReadersRefused"],
    ["vigil_query_cuts_total", "VigilReadersRefused"],
  ])("shows %s, and %s warns of it", (metric, alert) => {
    expect(shown.some(({ targets = [] }) => targets.some(({ expr }) => expr.includes(metric)))).toBe(true);
    expect(rules.find((rule) => rule.alert === alert)?.expr).toContain(metric);
  });

  test("has panels with unique ids", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});
