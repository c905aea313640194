/** Checks the pages about metrics and Events against the declarations and Events of the code. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { MetricOptions } from "../../protocols/ports.ts";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { startController } from "../../services/cli/process/controller.ts";
import { taintName } from "../../services/domain/toleration.ts";
import { createKube } from "../../services/platform/kube/kube.ts";
import { createMetrics, type ReadableMetrics } from "../../services/platform/process/metrics.ts";
import { policyEvents } from "../../services/policy/policy-events.policy.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import {
  askedCondition,
  askedEviction,
  doneNode,
  donePod,
  judgedPod,
  ledgerWorld,
  UNREACHABLE,
} from "../ledger/ledger-world.ts";
import { observedNode } from "../support/observed-objects.ts";
import { documented, ROOT, read, rowsOf } from "./documented-metrics.ts";

/** Every metric name in the code. */
function namesInCode(folder = "services"): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => [
      ...read(join(folder, path)).matchAll(/"((?:vigil|node_collector|taint_eviction_controller)_[a-z0-9_]+)"/g),
    ])
    .map(([, name = ""]) => name);
}

/** A registry that also records what was declared. */
function tellingMetrics(): { metrics: ReadableMetrics; declared: Map<string, { type: string; labels: string }> } {
  const registry = createMetrics();
  const declared = new Map<string, { type: string; labels: string }>();
  const note = <O extends MetricOptions>(type: string, options: O): O => {
    declared.set(options.name, { type, labels: options.labels?.join(", ") || "–" });
    return options;
  };
  const metrics: ReadableMetrics = {
    counter: (options) => registry.counter(note("counter", options)),
    gauge: (options) => registry.gauge(note("gauge", options)),
    histogram: (options) => registry.histogram(note("histogram", options)),
    text: () => registry.text(),
    gaugeValue: (name) => registry.gaugeValue(name),
  };
  return { metrics, declared };
}

describe("docs/metrics.md", () => {
  test("has every metric of the code, and no other", () => {
    expect([...documented.keys()].sort()).toEqual([...new Set(namesInCode())].sort());
  });

  test("gives each metric the type and labels that a controller declares", () => {
    const { metrics, declared } = tellingMetrics();
    const { io, transport } = ledgerWorld();
    const { clock, random, log, profile } = io;
    const { wire } = new ApiServer({ clock, random });
    const kube = createKube({ wire, clock, random, log, metrics, profile });
    const fatal = (problem: string) => expect.fail(problem);
    const about = { cluster: "test", member: "m-1", services: SERVICE_NAMES, isShared: true, store: null };
    const parts = { clock, random, log, metrics, profile, kube, transport, fatal, ...about };
    startController(parts).stop();
    expect(declared.size).toBeGreaterThan(40);
    expect(Object.fromEntries(declared)).toEqual(
      Object.fromEntries([...declared.keys()].map((name) => [name, documented.get(name)])),
    );
  });
});

describe("docs/events.md", () => {
  test("lists exactly the Events that are written", () => {
    const direct = ledgerWorld({ profile: { evictionMode: "direct" } });
    const { receive, kube } = direct;
    receive("observed.node", observedNode("n-1"), null);
    receive("done.write", doneNode("asked.condition", "n-1"), receive("asked.condition", askedCondition("n-1"), null));
    receive("done.write", donePod("asked.unready"), null);
    for (const [uid, mode] of [
      ["1", "taint"],
      ["2", "direct"],
    ] as const) {
      receive(
        "done.write",
        donePod("asked.eviction", { uid }),
        receive("asked.eviction", askedEviction({ uid, mode }), null),
      );
    }
    receive("judged.pod", judgedPod({ uid: "3" }), null);
    receive("judged.pod", judgedPod({ uid: "3", eviction: "none" }), null);
    const taint = { key: "maintenance", effect: "NoExecute" };
    receive("judged.pod", judgedPod({ uid: "4", eviction: "none", deadlineAt: null, taint, kept: "mirror" }), null);
    receive("observed.gone", { node: "n-1", uid: "uid-n-1" }, null);
    const written = kube.events.map(({ reason, type, source, involvedObject, message }) => {
      const { component } = source as { component: string };
      const template = message
        .replaceAll("n-1", "<node>")
        .replaceAll(taintName(UNREACHABLE), "<taint>")
        .replaceAll("default/", "<namespace>/")
        .replaceAll("maintenance:NoExecute", "<taint>")
        .replaceAll(/\bweb\b/g, "<pod>");
      return [reason, type, component, involvedObject.kind, template];
    });
    const quiet = { uid: "u", isOpen: false, frozenBy: null, conflict: null };
    const conflict = "node <node>: also selected by <others>; neither applies there";
    const busy = { uid: "u", isOpen: true, frozenBy: "<who>", conflict };
    for (const [before, after] of [
      [quiet, busy],
      [busy, quiet],
    ] as const) {
      const events = policyEvents("gpu", before, after);
      written.push(
        ...events.map(({ reason, type, component, involvedObject, message }) => [
          reason,
          type,
          component,
          involvedObject.kind,
          message,
        ]),
      );
    }
    const listed = rowsOf("docs/events.md").map((row) => row.slice(0, 5));
    expect(written.map(String).toSorted()).toEqual(listed.map(String).toSorted());
  });
});
