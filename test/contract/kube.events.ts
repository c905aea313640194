/** The contract's part about Events. */
import { expect, test } from "vitest";
import type { RawClient } from "./kube.provided.ts";

const CORE = "/api/v1/namespaces/default/events";

/** Registers the tests. */
export function eventsContract(client: () => RawClient): void {
  const regarding = { apiVersion: "v1", kind: "Node", name: "e-node", uid: "e-uid" };
  const coreEvent = (name: string): Record<string, unknown> => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace: "default" },
    involvedObject: regarding,
    reason: "NodeNotReady",
    message: "Node e-node status is now: NodeNotReady",
    type: "Normal",
    source: { component: "node-controller" },
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    count: 1,
  });

  test("repetitions are counted by patching the Event", async () => {
    await client().post(CORE, coreEvent("e-counted"));
    const patched = await client().patch(`${CORE}/e-counted`, "strategic-merge-patch", {
      count: 2,
      lastTimestamp: "2026-01-01T00:01:00Z",
    });
    expect(patched.status).toBe(200);
    expect(patched.object).toMatchObject({ count: 2, firstTimestamp: "2026-01-01T00:00:00Z" });
  });

  test("Events are selected by what they regard", async () => {
    await client().post(CORE, coreEvent("e-selected"));
    const selector = encodeURIComponent("involvedObject.kind=Node,involvedObject.name=e-node,involvedObject.uid=e-uid");
    const { object } = await client().get(`${CORE}?fieldSelector=${selector}`);
    expect(object.items).toEqual(expect.arrayContaining([expect.objectContaining({ reason: "NodeNotReady" })]));
    const none = await client().get(`${CORE}?fieldSelector=involvedObject.name%3De-nobody`);
    expect(none.object.items).toEqual([]);
  });
}
