/** A body with a field that the API does not have does not compile: tsc checks a file with one body a line. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const SHAPES = join(ROOT, "services/platform/kube/write/sent-bodies.ts");
const TSC = join(ROOT, "node_modules/.bin/tsc");

/** Bodies of each type, as source; `reported` is what tsc says of one that is wrong, null for one that is right. */
const BODIES: readonly { readonly type: string; readonly body: string; readonly reported: string | null }[] = [
  {
    type: "NodePatch",
    body: '{ spec: { taints: [{ key: "k", effect: "NoExecute", timeAdded: "" }] } }',
    reported: null,
  },
  { type: "NodePatch", body: "{ metadata: { annotations: { a: null } }, spec: { taints: null } }", reported: null },
  { type: "NodePatch", body: "{ spec: { taint: [] } }", reported: "'taint' does not exist" },
  { type: "NodePatch", body: "{ spec: { taints: [{ timeAdded: new Date(0) }] } }", reported: "'Date'" },
  { type: "NodePatch", body: "{ metadata: { annotations: { a: 1 } } }", reported: "'number'" },
  { type: "NodeBody", body: '{ metadata: { name: "n" }, spec: { providerID: "x://1" } }', reported: null },
  { type: "NodeBody", body: "{ specs: {} }", reported: "'specs' does not exist" },
  { type: "NodeBody", body: '{ spec: { taints: [{ key: "k" }] } }', reported: "effect'' is missing" },
  { type: "NodeStatusFields", body: "{ daemonEndpoints: { kubeletEndpoint: { Port: 1 } } }", reported: null },
  { type: "NodeStatusFields", body: "{ daemonEndpoints: { kubeletEndpoint: { port: 1 } } }", reported: "'Port'" },
  { type: "ConditionPatch", body: '{ type: "Ready", status: "False", lastTransitionTime: "" }', reported: null },
  {
    type: "ConditionPatch",
    body: '{ type: "Ready", lastTransition: "" }',
    reported: "'lastTransition' does not exist",
  },
  { type: "ConditionPatch", body: '{ status: "False" }', reported: "type' is missing" },
  { type: "PodStatusPatch", body: "{ phase: 1 }", reported: "'number'" },
  { type: "EventPatch", body: "{ count: 2, message: 'm' }", reported: null },
  { type: "EventPatch", body: "{ count: 2, regarding: {} }", reported: "'regarding' does not exist" },
  { type: "LeasePatch", body: "{ spec: { holder: 'a' } }", reported: "'holder' does not exist" },
  { type: "EvictionBody", body: "{ apiVersion: '', kind: '', deleteOptions: {} }", reported: null },
  { type: "EvictionBody", body: "{ apiVersion: '', kind: '', options: {} }", reported: "'options' does not exist" },
  { type: "EvictionBody", body: "{ deleteOptions: {} }", reported: "apiVersion, kind" },
  { type: "DeleteOptionsBody", body: "{ apiVersion: '', kind: '', gracePeriodSeconds: '1' }", reported: "'string'" },
  { type: "ConfigMapPatch", body: "{ data: { limits: {} } }", reported: "'string" },
];

/** What tsc reports of each line of a program, by its number from 1. */
function reportedOf(program: string): ReadonlyMap<number, string> {
  const folder = mkdtempSync(join(tmpdir(), "sent-bodies-"));
  const compilerOptions = { types: [] };
  const config = { extends: join(ROOT, "tsconfig.json"), compilerOptions, include: ["bodies.mts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  writeFileSync(join(folder, "bodies.mts"), program);
  const { stdout } = spawnSync(TSC, ["--noEmit", "--pretty", "false", "--project", folder], { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  const reports = stdout.split(/\n(?=\S)/).map((report) => [/bodies\.mts\((\d+),/.exec(report)?.[1], report] as const);
  return new Map(reports.map(([line, report]) => [Number(line), report]));
}

test("tsc reports each body that the API does not have, and no other", () => {
  const lines = BODIES.map(({ type, body }, index) => `export const b${index}: Sent.${type} = ${body};`);
  const reports = reportedOf([`import type * as Sent from "${SHAPES}";`, ...lines, ""].join("\n"));
  const found = BODIES.map(({ body }, index) => ({ body, reported: reports.get(index + 2) ?? null }));
  expect(found).toEqual(
    BODIES.map(({ body, reported }) => ({
      body,
      reported: reported === null ? null : expect.stringContaining(reported),
    })),
  );
});

test("the shapes are types alone, so nothing is loaded for them", async () => {
  expect(Object.keys(await import("../../../services/platform/kube/write/sent-bodies.ts"))).toEqual([]);
});
