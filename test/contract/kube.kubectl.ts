/** The contract's part about kubectl: its everyday verbs. */
import { expect, test } from "vitest";
import { type AddressedServer, nodeNamed, podNamed, RawClient } from "./kube.provided.ts";

/** Registers the tests. */
export function kubectlContract(server: () => AddressedServer): void {
  test("kubectl lists, describes, taints, cordons and deletes", async () => {
    const client = new RawClient(server().wire);
    const run = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await server().kubectl(...args);
      expect({ args, code, stderr: code === 0 ? "" : stderr }).toEqual({ args, code: 0, stderr: "" });
      return stdout;
    };
    await client.post("/api/v1/nodes", nodeNamed("t-kubectl"));
    expect(await run("get", "nodes", "t-kubectl", "--no-headers")).toMatch(/^t-kubectl\s+Unknown\s+<none>\s+\S+\s*$/);
    const watched = await run("get", "node", "t-kubectl", "-w", "--output-watch-events", "--request-timeout=3s");
    expect(watched).toMatch(/^EVENT\s+NAME\s+STATUS.*\nADDED\s+t-kubectl\s+Unknown/);
    expect(await run("get", "node", "t-kubectl", "-o", "jsonpath={.metadata.name}")).toBe("t-kubectl");
    expect(await run("taint", "nodes", "t-kubectl", "t=v:NoExecute")).toBe("node/t-kubectl tainted\n");
    expect(await run("cordon", "t-kubectl")).toBe("node/t-kubectl cordoned\n");
    expect(await run("label", "node", "t-kubectl", "t=l")).toBe("node/t-kubectl labeled\n");
    const described = await run("describe", "node", "t-kubectl");
    expect(described).toMatch(/Taints:\s+t=v:NoExecute/);
    expect(described).toMatch(/Unschedulable:\s+true/);
    await client.post("/api/v1/namespaces/default/pods", podNamed("t-deleted", "t-kubectl"));
    expect(await run("get", "pods", "--field-selector", "spec.nodeName=t-kubectl", "-o", "name")).toBe(
      "pod/t-deleted\n",
    );
    expect(await run("delete", "pod", "t-deleted", "--grace-period=0", "--force", "--wait=false")).toContain(
      "t-deleted",
    );
    await client.post("/api/v1/namespaces/default/events", {
      metadata: { name: "t-event", namespace: "default" },
      involvedObject: { kind: "Node", name: "t-kubectl" },
      reason: "NodeNotReady",
      message: "told",
      type: "Normal",
      lastTimestamp: new Date().toISOString(),
    });
    const events = await run("get", "events", "--field-selector", "involvedObject.name=t-kubectl", "--no-headers");
    expect(events).toMatch(/^\S+\s+Normal\s+NodeNotReady\s+node\/t-kubectl\s+told\s*$/);
    expect(await run("delete", "node", "t-kubectl")).toBe('node "t-kubectl" deleted\n');
    expect((await server().kubectl("get", "node", "t-kubectl")).stderr).toContain('nodes "t-kubectl" not found');
  });
}
