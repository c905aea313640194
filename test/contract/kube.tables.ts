/** The contract's part about tables as kubectl prints them. */
import { expect, test } from "vitest";
import { nodeNamed, nodePath, podNamed, type RawClient } from "./kube.provided.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const PODS = "/api/v1/namespaces/default/pods";

/** Registers the tests. */
export function tablesContract(client: () => RawClient): void {
  const columns = async (path: string): Promise<unknown> => {
    const { status, object } = await client().get(path, TABLE);
    expect(status).toBe(200);
    expect(object).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
    return (object.columnDefinitions as { name: string; priority: number }[]).map(({ name, priority }) => [
      name,
      priority,
    ]);
  };
  const rows = async (path: string, cellsMax?: number): Promise<unknown> => {
    const { object } = await client().get(path, TABLE);
    return (object.rows as { cells: unknown[] }[]).map(({ cells }) => cells.slice(0, cellsMax));
  };

  test("nodes, pods and events are Tables with kubectl's columns when requested", async () => {
    expect(await columns("/api/v1/nodes")).toEqual([
      ["Name", 0],
      ["Status", 0],
      ["Roles", 0],
      ["Age", 0],
      ["Version", 0],
      ["Internal-IP", 1],
      ["External-IP", 1],
      ["OS-Image", 1],
      ["Kernel-Version", 1],
      ["Container-Runtime", 1],
    ]);
    expect(await columns("/api/v1/pods")).toEqual([
      ["Name", 0],
      ["Ready", 0],
      ["Status", 0],
      ["Restarts", 0],
      ["Age", 0],
      ["IP", 1],
      ["Node", 1],
      ["Nominated Node", 1],
      ["Readiness Gates", 1],
    ]);
    expect(await columns("/api/v1/events")).toEqual([
      ["Last Seen", 0],
      ["Type", 0],
      ["Reason", 0],
      ["Object", 0],
      ["Subobject", 1],
      ["Source", 1],
      ["Message", 0],
      ["First Seen", 1],
      ["Count", 1],
      ["Name", 1],
    ]);
  });

  test("a node's Status cell shows Ready, NotReady or Unknown, and cordoning", async () => {
    const selected = "/api/v1/nodes?labelSelector=t%3Dnode";
    const { object } = await client().post(
      "/api/v1/nodes",
      nodeNamed("t-node", { metadata: { name: "t-node", labels: { t: "node" } } }),
    );
    expect(await rows(selected)).toEqual([["t-node", "Unknown", "<none>", expect.any(String), "", ...wide]]);
    const conditions = [{ type: "Ready", status: "True" }];
    await client().put(nodePath("t-node", "/status"), { ...object, status: { conditions } });
    expect(await rows(selected, 2)).toEqual([["t-node", "Ready"]]);
    await client().patch(nodePath("t-node", "/status"), "strategic-merge-patch", {
      status: { conditions: [{ type: "Ready", status: "Unknown" }] },
    });
    await client().patch(nodePath("t-node"), "merge-patch", { spec: { unschedulable: true } });
    expect(await rows(selected, 2)).toEqual([["t-node", "NotReady,SchedulingDisabled"]]);
  });

  test("a pod's row shows its phase, readiness and node, and whether it terminates", async () => {
    await client().post(PODS, {
      ...podNamed("t-pod", "t-node"),
      metadata: { name: "t-pod", namespace: "default", labels: { t: "pod" } },
    });
    const selected = `${PODS}?labelSelector=t%3Dpod`;
    expect(await rows(selected)).toEqual([
      ["t-pod", "0/1", "Pending", expect.anything(), expect.any(String), "<none>", "t-node", "<none>", "<none>"],
    ]);
    await client().delete(`${PODS}/t-pod`);
    expect(await rows(selected, 3)).toEqual([["t-pod", "0/1", "Terminating"]]);
  });
}

const wide = ["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"];
