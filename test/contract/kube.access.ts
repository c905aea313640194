/** The contract's part about who may do what. */
import { expect, test } from "vitest";
import { type AddressedServer, RawClient } from "./kube.provided.ts";

/** Registers the tests. */
export function accessContract(server: () => AddressedServer): void {
  test("an unknown bearer token is 401 Unauthorized, for reads, writes and watches", async () => {
    const stranger = new RawClient(server().wireWith("no-such-token"));
    const answers = [
      await stranger.get("/api/v1/nodes"),
      await stranger.get("/api/v1/nodes?watch=true&resourceVersion=0"),
      await stranger.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "a-stranger" } }),
    ];
    for (const { status, object } of answers) {
      expect(status).toBe(401);
      expect(object).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "Unauthorized",
        reason: "Unauthorized",
        code: 401,
      });
    }
  });
}
