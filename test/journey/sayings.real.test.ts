/** What Vigil says where it is alone on a real API server, against what the server's audit log shows. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ComparisonReport } from "../../protocols/ledger-reader.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { until } from "../support/until.ts";
import { BesideCluster, GRACE_MS } from "./beside-cluster.ts";

const ZONES = { "a-0": "a", "a-1": "a", "a-2": "a", "b-0": "b", "b-1": "b", "b-2": "b" };
const DOWN = ["a-0", "b-0"];
const WITHIN = { withinMs: 30_000, everyMs: 100 };
vi.setConfig({ testTimeout: 60_000 });

describeWithKube("Vigil alone", () => {
  let cluster: BesideCluster;
  let compared: ComparisonReport;

  beforeAll(async () => {
    cluster = await BesideCluster.start(ZONES);
    for (const node of Object.keys(ZONES)) await cluster.shows(`${node} Ready`, "True");
    await cluster.startVigil();
    cluster.silence(...DOWN);
    for (const node of DOWN) await cluster.shows(`${node} Ready`, "Unknown");
    await until(
      "both are compared",
      async () => {
        compared = await cluster.comparison();
        return compared.nodes.filter(({ unknown }) => unknown.vigil !== null).length === DOWN.length;
      },
      WITHIN,
    );
  });
  afterAll(() => cluster.stop());

  test("credits no other side with what the audit shows as its own", async () => {
    const written = cluster.requests().filter(({ resource, status }) => resource === "nodes/status" && status === 200);
    expect(written.map(({ name }) => name).sort()).toEqual(DOWN);
    for (const { unknown } of compared.nodes) expect(unknown.others).toBeNull();
    expect(await cluster.compare()).toContain("No other controller was seen");
  });

  test("awaits no write that the watch has shown", async () => {
    for (const node of Object.keys(ZONES)) {
      expect(await cluster.explain(`node/${node}`)).not.toMatch(/watch does not show it yet|was requested/);
    }
  });

  test("previews with the flags of the process, and counts what is down apart", async () => {
    const text = await cluster.preview("--node=a-0,a-1", "--down");
    expect(text).toMatch(/^1 more node would become Unknown, .* 2 nodes are down or tainted already/m);
    expect(text).toContain(`a grace of ${GRACE_MS.vigil / 1000}s, `);
    expect(text).toMatch(/; by http:/);
  });
});
