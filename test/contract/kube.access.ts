/** The contract's part about who may do what. */
import { expect, test } from "vitest";
import { type ProvidedServer, RawClient } from "./kube.provided.ts";

/** Registers the tests. */
export function accessContract(server: () => ProvidedServer): void {
  test("an unknown bearer token is 401 Unauthorized, for reads, writes and watches", async ({ skip }) => {
    const { wireWith } = server();
    if (wireWith === null) return skip("this way in needs no token");
    const stranger = new RawClient(wireWith("no-such-token"));
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
