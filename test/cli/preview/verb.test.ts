/** `vigil preview` against the embedded API over HTTP, and what it prints. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { STANDARD_PROFILE } from "../../../protocols/profile.ts";
import { kubeconfigOf } from "../../../services/cli/apiserver/served-api.ts";
import type { Preview } from "../../../services/cli/preview/preview.ts";
import { previewText } from "../../../services/cli/preview/preview-printer.ts";
import { runSettingsOf } from "../../../services/cli/run/run-tunables.ts";
import { hollowVerb } from "../../../services/cli/verbs/hollow.ts";
import { previewVerb } from "../../../services/cli/verbs/preview.ts";
import { realClock } from "../../../services/platform/process/clock.real.ts";
import { processFiles } from "../../../services/platform/process/process.ts";
import { ApiServer } from "../../../services/sandbox/apiserver/apiserver.ts";
import { listen } from "../../../services/sandbox/apiserver/http/http-front.ts";
import { seededRandom } from "../../support/random.seeded.ts";
import { until } from "../../support/until.ts";
import { fakeHost } from "../fake-host.ts";

const FREE = { policy: null, heldBy: null };

const PREVIEW: Preview = {
  fault: "zone b is down",
  at: Date.UTC(2026, 0, 1),
  zones: [
    {
      zone: "b",
      size: 2,
      before: { state: "Normal", notReady: 0 },
      after: { state: "FullDisruption", notReady: 2, taintsPerSecond: 0.1 },
      waiting: 0,
    },
  ],
  nodes: [
    { node: "b-0", zone: "b", unknownAfterMs: 46_001, admittedAfterMs: 46_001, pods: 2, podsDeleted: 1, ...FREE },
    { node: "b-1", zone: "b", unknownAfterMs: 47_000, admittedAfterMs: null, pods: 0, podsDeleted: 0, ...FREE },
  ],
  pods: [
    { namespace: "shop", name: "cart", node: "b-0", deletedAfterMs: 346_001, why: "does not tolerate x" },
    { namespace: "shop", name: "proxy", node: "b-0", deletedAfterMs: null, why: "tolerates x" },
  ],
  overAfterMs: 346_001,
  assumes: {
    nodeMonitorGraceMs: 50_000,
    nodeEvictionsPerSecond: 0.1,
    secondaryNodeEvictionsPerSecond: 0.01,
    source: "flags",
  },
  unread: [],
};

test("a preview is one sentence and three tables", () => {
  expect(previewText(PREVIEW, 20).split("\n")).toEqual([
    "If zone b is down from 2026-01-01T00:00:00Z on:",
    "2 nodes would become Unknown, 1 would be admitted for eviction, 1 pod would be deleted and 1 would stay; all of it within 5m46s.",
    "Where no policy sets others: a grace of 50s, one node every 10 s, and in a large disrupted zone one node every 100 s; by flags.",
    "",
    "ZONE   STATE                     NOT READY    EVICTION RATE         WAITING",
    "b      Normal → FullDisruption   0 → 2 of 2   one node every 10 s   0",
    "",
    "NODE   ZONE   UNKNOWN   ADMITTED   PODS DELETED",
    "b-0    b      in 46s    in 46s     1 of 2",
    "b-1    b      in 47s    -          0 of 0",
    "",
    "NAMESPACE   POD     NODE   DELETED    WHY",
    "shop        cart    b-0    in 5m46s   does not tolerate x",
    "shop        proxy   b-0    stays      tolerates x",
    "",
  ]);
});

test("nodes that are down already are counted apart from what the fault adds", () => {
  const [first, second] = PREVIEW.nodes;
  if (first === undefined || second === undefined) throw new Error("there are two nodes");
  const nodes = [{ ...first, isDownAlready: true as const }, second];
  expect(previewText({ ...PREVIEW, nodes }, 20)).toContain(
    "1 more node would become Unknown, 0 would be admitted for eviction, 0 pods would be deleted and 0 would stay; all of it within 5m46s. 1 node is down or tainted already, where 1 pod would be deleted.",
  );
});

test("policies, holds and what could not be read show where there are any", () => {
  const nodes = PREVIEW.nodes.map((node, index) =>
    index === 0 ? { ...node, policy: "trial" } : { ...node, policy: "gpu", heldBy: "budgets of gpu" },
  );
  const lines = previewText({ ...PREVIEW, zones: [], pods: [], nodes, unread: ["NodePolicy objects"] }, 20).split("\n");
  expect(lines.slice(4)).toEqual([
    "NODE   ZONE   POLICY   UNKNOWN   ADMITTED   PODS DELETED   HELD BACK BY",
    "b-0    b      trial    in 46s    in 46s     1 of 2         -",
    "b-1    b      gpu      in 47s    -          0 of 0         budgets of gpu",
    "",
    "Not known: NodePolicy objects could not be read, so this is a preview without them.",
    "",
  ]);
});

test("what is done about a machine shows where its policy says so", () => {
  const [first, ...others] = PREVIEW.nodes;
  if (first === undefined) throw new Error("there is no node");
  const remediations = [
    { kind: "Reboot", createdAfterMs: 46_001, timesOutAfterMs: 346_001 },
    { kind: "PowerOff", createdAfterMs: 346_001, timesOutAfterMs: null, isDryRun: true as const },
  ];
  const outOfService = { fromAfterMs: 227_000, proofs: ["RemediationSucceeded", "Manual"] as const };
  const text = previewText({ ...PREVIEW, nodes: [{ ...first, remediations, outOfService }, ...others] }, 20);
  expect(text).toContain(
    [
      "NODE   REMEDY           EARLIEST   CONDITION",
      "b-0    Reboot           in 46s     -",
      "b-0    PowerOff         in 5m46s   unless the one before succeeds; dry run",
      "b-0    out of service   in 3m47s   once a remediation succeeds or a user runs vigil prove-down",
      "",
    ].join("\n"),
  );
});

test("rows beyond the limit are counted", () => {
  expect(previewText(PREVIEW, 1)).toContain("At most 1 rows of each are shown; --limit=2 shows all, as does -o json.");
  expect(previewText(PREVIEW, 1)).not.toContain("b-1");
});

test("a cluster in which nothing follows says so", () => {
  const nothing = { ...PREVIEW, zones: [], nodes: [], pods: [], overAfterMs: 0 };
  expect(previewText(nothing, 20)).toContain("; nothing would follow.");
});

test("the verb reads a cluster and a configuration, prints what would follow", async () => {
  const folder = mkdtempSync(join(tmpdir(), "preview-"));
  const server = new ApiServer({ clock: realClock(), random: seededRandom(1) });
  const front = await listen(server, { port: 0 });
  const kubeconfig = join(folder, "kubeconfig");
  processFiles.writeFile(kubeconfig, kubeconfigOf("test", front.url));
  const flags = [`--kubeconfig=${kubeconfig}`, "--log-level=error"];
  const runner = fakeHost();
  const nodes = ["--nodes=6", "--pods-per-node=1", `--socket=${join(folder, "s.sock")}`];
  const run = hollowVerb.start([...nodes, ...flags], runner);
  await until("the nodes are registered", () => runner.out() !== "");
  const host = fakeHost();
  expect(await previewVerb.start(["--zone=zone-1", "--down", "-o=json", ...flags], host)).toBe(0);
  const preview = JSON.parse(host.out()) as Preview;
  expect(preview.nodes.map(({ node }) => node).sort()).toEqual(["hollow-1", "hollow-4"]);
  expect(preview.pods.map(({ name }) => name).sort()).toEqual(["hollow-1-pod-0", "hollow-4-pod-0"]);
  const zone = { key: "topology.kubernetes.io/zone", operator: "In", values: ["zone-1"] };
  const held = { name: "held", spec: { selector: { matchExpressions: [zone] }, mode: "Freeze" } };
  const configured = fakeHost({ "v.yaml": JSON.stringify({ policies: [held], nodeMonitorGracePeriod: "100s" }) });
  const withConfig = ["--zone=zone-1", "--down", "-o=json", "--config=v.yaml", ...flags];
  expect(await previewVerb.start(withConfig, configured)).toBe(0);
  const { nodes: frozen } = JSON.parse(configured.out()) as Preview;
  expect(frozen).toMatchObject(Array(2).fill({ policy: "held", heldBy: "NodePolicy held: spec.mode (Freeze)" }));
  expect(Math.min(...frozen.map(({ unknownAfterMs }) => unknownAfterMs ?? 0))).toBeGreaterThan(80_000);
  const running = fakeHost();
  const settings = runSettingsOf({ ...STANDARD_PROFILE, nodeMonitorGraceMs: 100_000 });
  const console = createServer((_request, response) => response.end(JSON.stringify({ settings })));
  await new Promise<void>((listening) => console.listen(0, "127.0.0.1", listening));
  const { port } = console.address() as AddressInfo;
  const ofProcess = ["--zone=zone-1", "--down", "-o=json", `--server=http://127.0.0.1:${port}`, ...flags];
  expect(await previewVerb.start(ofProcess, running)).toBe(0);
  const { assumes } = JSON.parse(running.out()) as Preview;
  expect(assumes).toMatchObject({ nodeMonitorGraceMs: 100_000, source: `http://127.0.0.1:${port}` });
  console.close();
  await expect(previewVerb.start(["--node=hollow-9", "--down", ...flags], host)).rejects.toThrow(
    "--node=hollow-9: there is no node hollow-9; did you mean hollow-",
  );
  runner.stop();
  await run;
  await front.close();
  rmSync(folder, { recursive: true });
});
