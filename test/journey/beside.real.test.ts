/** Vigil beside upstream's real node lifecycle controller, both at work on one API server. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { mismatches, usableGrants } from "../deploy/installed.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { until } from "../support/until.ts";
import { BesideCluster, GRACE_MS } from "./beside-cluster.ts";

const ZONES = { "a-0": "a", "a-1": "a", "a-2": "a", "b-0": "b", "b-1": "b", "b-2": "b" };
const NODES = Object.keys(ZONES);
/** Upstream's NoExecute taints around one loss. Just after a start it may strip them and set them again. */
const TAINTED_ONCE = ["none", "unreachable", "none"];
/** Several passes of upstream, which looks every two seconds. */
const PASSES_MS = 6_000;
vi.setConfig({ testTimeout: 180_000 });

describeWithKube("beside upstream's real controllers", () => {
  let cluster: BesideCluster;
  let losses = 0;
  /** Pods marked besides the one of each node. */
  let marks = 0;

  beforeAll(async () => {
    cluster = await BesideCluster.start(ZONES);
    await cluster.startUpstream();
    await cluster.isWell(...NODES);
    await Promise.all(NODES.map((node) => cluster.shows(`${node}-pod-0 Ready`, "True")));
    await cluster.startVigil();
  });
  afterAll(() => cluster.stop());

  /** Silences nodes, and waits until they are Unknown and their pods not ready. */
  const lose = async (...names: readonly string[]): Promise<void> => {
    losses += names.length;
    cluster.forget();
    cluster.silence(...names);
    for (const name of names) {
      await cluster.shows(`${name} Ready`, "Unknown");
      await cluster.shows(`${name}-pod-0 Ready`, "False");
    }
  };
  const returns = async (...names: readonly string[]): Promise<void> => {
    cluster.resume(...names);
    await cluster.isWell(...names);
    for (const name of names) await cluster.shows(`${name}-pod-0 Ready`, "True");
  };
  /**
   * Asserts that each field of a node has the fewest values, and that Vigil writes each field once for each loss; null
   * leaves upstream's taints out.
   */
  const noFight = (node: string, noExecute: readonly string[] | null = TAINTED_ONCE): void => {
    expect(cluster.values(`${node} Ready`)).toEqual(["True", "Unknown", "True"]);
    expect(cluster.values(`${node}-pod-0 Ready`)).toEqual(["True", "False", "True"]);
    if (noExecute !== null) expect(cluster.values(`${node} NoExecute`)).toEqual(noExecute);
    expect(cluster.writes()).toEqual({ "patch nodes/status": losses, "patch pods/status": losses + marks });
  };

  test("a grace shorter than two renewals is refused, unless it is forced", async () => {
    const refused = cluster.vigilWith("--upstream=beside", "--node-monitor-grace-period=1s");
    expect(await refused.exited()).toBe(1);
    expect(refused.err).toContain("--node-monitor-grace-period=1s: kubelets renew their leases every 1s");
    expect(refused.err).toContain("give at least 6s, or a shorter --pulse-timeout, or add --allow-short-grace");
    expect(cluster.values("a-0 Ready").at(-1)).toBe("True");
  });

  test("a process in place of upstream warns at once that upstream works too", async () => {
    const replacing = cluster.vigilWith("--services=observer,node", "--node-monitor-grace-period=40s");
    await replacing.untilLogged("upstream's controllers were at work before this process started: ");
    replacing.signal("SIGTERM");
    expect(await replacing.exited()).toBe(0);
    expect(await cluster.readyz()).toContain("[+]upstream ok: upstream was last seen by");
  });

  test("the API server accepts both writes in a dry run, by docs/managed-clusters.md", async () => {
    expect(await cluster.dryRun("nodes/a-0/status", { status: { phase: "" } })).toBe(200);
    expect(await cluster.dryRun("namespaces/default/pods/a-0-pod-0/status", { status: { message: "" } })).toBe(200);
    expect(await cluster.dryRun("nodes/a-0", { spec: { taints: null } })).toBe(403);
  });

  test("a silent node is Unknown by Vigil's grace, and upstream's own taint follows", async () => {
    await lose("a-0");
    const renewedAt = await cluster.renewedAt("a-0");
    const foundMs = cluster.at("a-0 Ready") - renewedAt;
    expect(foundMs).toBeGreaterThanOrEqual(GRACE_MS.vigil);
    expect(foundMs).toBeLessThan(GRACE_MS.upstream - 10_000);
    await cluster.shows("a-0 NoExecute", "unreachable");
    expect(cluster.at("a-0 NoExecute")).toBeGreaterThan(cluster.at("a-0 Ready"));
    // Past the end of upstream's own grace, which finds nothing left to do.
    await pause(renewedAt + GRACE_MS.upstream + PASSES_MS - Date.now());
    await returns("a-0");
    noFight("a-0");
  });

  test("upstream evicts by its own taint", async () => {
    await cluster.run("goes", "a-0", 3);
    await lose("a-0");
    await cluster.shows("goes Ready", "gone");
    marks += 1;
    expect(cluster.values("goes Ready")).toEqual(["True", "False", "gone"]);
    expect(cluster.at("goes Ready") - cluster.at("a-0 NoExecute")).toBeGreaterThan(2_000);
    await returns("a-0");
    noFight("a-0");
  });

  test("a node that is lost while upstream stands still is tainted when upstream runs on", async () => {
    cluster.manager.pause();
    await lose("a-1");
    await pause(PASSES_MS);
    expect(cluster.values("a-1 NoExecute")).toEqual(["none"]);
    expect(await cluster.explain("pod/default/a-1-pod-0")).toContain("It waits for upstream's controllers");
    cluster.manager.resume();
    await cluster.shows("a-1 NoExecute", "unreachable");
    await returns("a-1");
    noFight("a-1");
  });

  test("a node that returns while upstream stands still is never tainted", async () => {
    cluster.manager.pause();
    await lose("a-2");
    cluster.resume("a-2");
    await cluster.shows("a-2 Ready", "True");
    cluster.manager.resume();
    await pause(PASSES_MS);
    await returns("a-2");
    noFight("a-2", ["none"]);
  });

  test("upstream restarted after the loss taints the node; Vigil writes nothing more", async () => {
    await cluster.manager.stop();
    await lose("b-0");
    await cluster.startUpstream();
    await cluster.shows("b-0 NoExecute", "unreachable");
    await returns("b-0");
    noFight("b-0", null);
  });

  test("both may start at once on a cluster with a lost node", async () => {
    expect(await cluster.stopVigil()).toEqual([0]);
    await cluster.manager.stop();
    cluster.silence("b-1");
    await pause(PASSES_MS);
    await Promise.all([cluster.startUpstream(), cluster.startVigil()]);
    await lose("b-1");
    await cluster.shows("b-1 NoExecute", "unreachable");
    await returns("b-1");
    noFight("b-1", null);
  });

  test("when all zones are down upstream halts by its rule; Vigil's conditions stay", async () => {
    await lose(...NODES);
    const said = () => cluster.manager.log().includes("Entering master disruption mode");
    await until("upstream says that it halts", said);
    await pause(PASSES_MS);
    for (const node of NODES) expect(cluster.values(`${node} Ready`)).toEqual(["True", "Unknown"]);
    const tainted = () => NODES.filter((node) => cluster.values(`${node} NoExecute`).at(-1) !== "none");
    const halted = tainted();
    // A taint that is under way while upstream strips all of them stays: at most one of each zone.
    expect(new Set(halted.map((node) => node[0])).size).toBe(halted.length);
    await pause(PASSES_MS);
    expect(tainted()).toEqual(halted);
    await returns(...NODES);
    expect(cluster.writes()).toEqual({ "patch nodes/status": losses, "patch pods/status": losses + marks });
  });

  test("Vigil has the rights that it uses and no other, and cannot delete a pod", async () => {
    await cluster.createPolicy("unused");
    await until(
      "the status of the policy is written",
      () => cluster.writes()["patch nodepolicies/status"] !== undefined,
    );
    expect(await cluster.stopVigil()).toEqual([0]);
    const grants = usableGrants(cluster.manifests);
    const use = () => ({ grants, requests: cluster.requests() });
    await until(
      () => mismatches(use()).join("; "),
      () => mismatches(use()).length === 0,
    );
    const changing = grants.filter(({ verb }) => verb.startsWith("delete") || verb === "update");
    expect(changing).toMatchObject([{ verb: "update", resource: "leases", namespace: "vigil-system" }]);
  });
}, ["kube-controller-manager", "kubectl"]);
