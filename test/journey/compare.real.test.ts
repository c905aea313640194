/** `vigil compare` in shadow mode beside upstream's real controllers: every difference that it reports is right. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ComparedPod, ComparedStep, ComparisonReport } from "../../protocols/ledger-reader.ts";
import type { Difference, StepCounts } from "../../services/cli/compare/comparison-summary.policy.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { until } from "../support/until.ts";
import { BesideCluster, GRACE_MS } from "./beside-cluster.ts";

const ZONES = { "a-0": "a", "a-1": "a", "a-2": "a", "b-0": "b", "b-1": "b", "b-2": "b" };
/** More than Vigil's grace, and little enough for a short test. */
const UPSTREAM_GRACE_MS = 20_000;
const WITHIN = { withinMs: 60_000, everyMs: 100 };
/** Upstream is suspended meanwhile. */
const STOOD_STILL_MS_MAX = 60_000;
/** Stamps of the API are whole seconds, and a busy machine is late. */
const LATE_MS = 4_000;
vi.setConfig({ testTimeout: 120_000 });

type Printed = ComparisonReport & { figures: StepCounts[]; differences: Difference[] };

describeWithKube("compared with upstream's real controllers", () => {
  let cluster: BesideCluster;
  let report: Printed;
  const pod = (name: string): ComparedPod | undefined => report.pods.find((each) => each.name === name);
  const node = (name: string) => report.nodes.filter((each) => each.node === name);
  /** How much later upstream was, and which sides made the step. */
  const sidesOf = (step: ComparedStep | undefined) => {
    const isVigil = step?.vigil !== undefined && step.vigil !== null && step.vigil.isPlanned !== true;
    return [isVigil ? "vigil" : "", step?.others == null ? "" : "others"].filter((side) => side !== "").join("+");
  };

  beforeAll(async () => {
    cluster = await BesideCluster.start(ZONES);
    await cluster.startUpstream({
      "node-monitor-grace-period": `${UPSTREAM_GRACE_MS}ms`,
      "pod-eviction-timeout": "1s",
    });
    await cluster.isWell(...Object.keys(ZONES));
    await cluster.run("goes", "a-0", 3);
    await cluster.run("stays", "a-0", 3600);
    await cluster.run("tolerates", "a-0", null);
    await cluster.run("brief", "b-0", 0);
    await cluster.run("intolerant", "a-1", 0);
    await cluster.startShadow();
    // Upstream is suspended until one of two silent nodes has returned. So it never finds that node silent.
    cluster.manager.pause();
    cluster.silence("a-0", "b-0");
    await untilCompared("Vigil would have evicted", ({ pods }) =>
      pods.some(({ name, deleted }) => name === "brief" && sidesOf(deleted) === "vigil"),
    );
    const resumedAt = Date.now();
    cluster.resume("b-0");
    await until("b-0 has returned", async () => (await cluster.renewedAt("b-0")) > resumedAt, WITHIN);
    cluster.manager.resume();
    await cluster.api.kubectl("taint", "node", "a-1", "maintenance=now:NoExecute");
    await cluster.shows("a-0 NoExecute", "unreachable");
    await cluster.shows("goes Ready", "gone");
    await cluster.api.kubectl("delete", "pod", "stays", "tolerates", "--wait=false");
    await untilCompared("b-0 is over", ({ nodes }) =>
      nodes.some(({ node: name, to }) => name === "b-0" && to !== null),
    );
    await untilCompared("both are deleted", ({ pods }) => {
      const deleted = new Set(pods.flatMap(({ name, deleted: { others } }) => (others === null ? [] : [name])));
      return deleted.has("stays") && deleted.has("tolerates");
    });
    report = JSON.parse(await cluster.compare("-o", "json"));
  });
  afterAll(() => cluster.stop());

  const untilCompared = (what: string, holds: (compared: ComparisonReport) => boolean) =>
    until(what, async () => holds(await cluster.comparison()), WITHIN);

  test("a node that stays away was found, tainted and emptied by both, by Vigil earlier", () => {
    const [found] = node("a-0");
    const leadMs = UPSTREAM_GRACE_MS - GRACE_MS.vigil;
    for (const step of [found?.unknown, found?.noExecute, pod("a-0-pod-0")?.notReady, pod("goes")?.deleted]) {
      expect(sidesOf(step)).toBe("vigil+others");
      expect(step?.leadMs).toBeGreaterThan(leadMs - 1_100);
      expect(step?.leadMs).toBeLessThan(STOOD_STILL_MS_MAX);
    }
  });

  test("a node that returned before upstream's grace was over differs, with the reason", () => {
    const [found] = node("b-0");
    for (const step of [found?.unknown, found?.noExecute, pod("brief")?.deleted]) {
      expect(sidesOf(step)).toBe("vigil");
      expect(step?.why).toBe("the failure ended before the others did it");
    }
    expect(cluster.values("brief Ready").at(-1)).toBe("True");
  });

  test("a person's taint evicts by both sides, and neither sets it", () => {
    const [found] = node("a-1");
    expect(found?.otherTaints).toEqual(["maintenance:NoExecute"]);
    expect([sidesOf(found?.unknown), sidesOf(found?.noExecute)]).toEqual(["", ""]);
    for (const name of ["intolerant", "a-1-pod-0"]) {
      expect(pod(name)?.deleted.others).not.toBeNull();
      expect(pod(name)?.deleted.vigil).not.toBeNull();
      expect(Math.abs(pod(name)?.deleted.leadMs ?? Number.NaN)).toBeLessThan(LATE_MS);
    }
  });

  test("a pod that a person deletes was due later in Vigil, or never", () => {
    expect(pod("stays")?.deleted).toMatchObject({ vigil: { isPlanned: true } });
    expect(pod("stays")?.deleted.leadMs).toBeLessThan(-3_000_000);
    expect(sidesOf(pod("tolerates")?.deleted)).toBe("others");
    expect(pod("tolerates")?.deleted.why).toBe("not known: this ledger has received no deadline for the pod");
  });

  test("nothing else is reported", () => {
    expect(report.nodes.map(({ node: name }) => name).toSorted()).toEqual(["a-0", "a-1", "b-0"]);
    expect(new Set(report.differences.map(({ object }) => object))).toEqual(
      new Set(["node b-0", "pod default/brief", "pod default/b-0-pod-0", "pod default/tolerates"]),
    );
  });

  test("each difference can be explained by its id", async () => {
    for (const { id, object } of report.differences) {
      const [kind = "", name = ""] = object.split(" ");
      const { timeline } = await cluster.explanation(`${kind}/${name}`);
      expect(timeline.map((decision) => decision.id)).toContain(id);
    }
  });

  test("the page names figures and differences, and that nothing is kept", async () => {
    const page = await cluster.compare("-o", "markdown");
    expect(page).toContain("It begins again when Vigil restarts, because JetStream does not keep it.");
    expect(page).toMatch(/\| Ready=Unknown \| 1 \| 1 \| 0 \|/);
  });

  test("nothing was written", () => {
    expect(cluster.writes()).toEqual({});
  });
}, ["kube-controller-manager", "kubectl"]);
