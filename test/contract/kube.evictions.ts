/** The contract's part about evictions and the disruption budgets that refuse them. */
import { expect, test } from "vitest";
import { podNamed, podPath, type RawAnswer, type RawClient } from "./kube.provided.ts";

const PODS = "/api/v1/namespaces/default/pods";
const SUMMARY = "Cannot evict pod as it would violate the pod's disruption budget.";

/** Registers the tests. */
export function evictionsContract(client: () => RawClient): void {
  const version = async (): Promise<string> => {
    const { object } = await client().get("/apis/policy");
    return (object.preferredVersion as { groupVersion: string }).groupVersion;
  };
  const budgets = async (): Promise<string> => `/apis/${await version()}/namespaces/default/poddisruptionbudgets`;
  const evict = async (name: string): Promise<RawAnswer> => {
    const body = { apiVersion: await version(), kind: "Eviction", metadata: { name, namespace: "default" } };
    return client().post(podPath(name, "/eviction"), body);
  };
  /** A running pod with a label, and a budget for it with this status. */
  const protectedPod = async (name: string, status: Readonly<Record<string, number>> | null): Promise<string> => {
    const metadata = { name, namespace: "default", labels: { budget: name } };
    await client().post(PODS, { ...podNamed(name, "v-node"), metadata });
    const conditions = [{ type: "Ready", status: "True" }];
    await client().patch(podPath(name, "/status"), "merge-patch", { status: { phase: "Running", conditions } });
    const spec = { minAvailable: 1, selector: { matchLabels: { budget: name } } };
    const budget = { apiVersion: await version(), kind: "PodDisruptionBudget", metadata: { name }, spec };
    expect((await client().post(await budgets(), budget)).status).toBe(201);
    const path = `${await budgets()}/${name}`;
    if (status === null) return path;
    const counted = { currentHealthy: 1, desiredHealthy: 1, expectedPods: 1, disruptionsAllowed: 0, ...status };
    expect((await client().patch(`${path}/status`, "merge-patch", { status: counted })).status).toBe(200);
    return path;
  };
  const causeOf = ({ object }: RawAnswer): unknown => (object.details as { causes: unknown[] }).causes[0];

  test("a budget that has not been counted refuses an eviction", async () => {
    await protectedPod("v-new", null);
    const answer = await evict("v-new");
    expect(answer).toMatchObject({ status: 429, object: { reason: "TooManyRequests", message: SUMMARY } });
    const message = "The disruption budget v-new is still being processed by the server.";
    expect(causeOf(answer)).toEqual({ reason: "DisruptionBudget", message });
  });

  test("a budget that allows no disruption refuses an eviction, and is named", async () => {
    await protectedPod("v-full", { observedGeneration: 1 });
    const answer = await evict("v-full");
    expect(answer).toMatchObject({ status: 429, object: { reason: "TooManyRequests", message: SUMMARY } });
    const message = "The disruption budget v-full needs 1 healthy pods and has 1 currently";
    expect(causeOf(answer)).toEqual({ reason: "DisruptionBudget", message });
    expect((await client().get(podPath("v-full"))).object.metadata.deletionTimestamp).toBeUndefined();
  });

  test("an eviction that a budget allows counts against it", async () => {
    const path = await protectedPod("v-spare", { observedGeneration: 1, disruptionsAllowed: 1 });
    expect((await evict("v-spare")).status).toBe(201);
    const { object } = await client().get(path);
    expect(object.status).toMatchObject({ disruptionsAllowed: 0, disruptedPods: { "v-spare": expect.any(String) } });
    expect((await client().get(podPath("v-spare"))).object.metadata.deletionTimestamp).toEqual(expect.any(String));
  });

  test("a pod that does not run yet is evicted whatever its budget says", async () => {
    await protectedPod("v-pending", { observedGeneration: 1 });
    await client().patch(podPath("v-pending", "/status"), "merge-patch", { status: { phase: "Pending" } });
    expect((await evict("v-pending")).status).toBe(201);
  });

  test("a pod without a budget is evicted; an eviction of another name is 400", async () => {
    await client().post(PODS, podNamed("v-free", "v-node"));
    const body = { apiVersion: await version(), kind: "Eviction", metadata: { name: "v-other" } };
    expect((await client().post(podPath("v-free", "/eviction"), body)).status).toBe(400);
    expect((await evict("v-free")).status).toBe(201);
    expect((await evict("v-none")).status).toBe(404);
  });
}
