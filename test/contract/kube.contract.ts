/** The contract of the Kubernetes API: one suite that the real kube-apiserver and the embedded one must both pass. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWithKube } from "../support/kube-assets.ts";
import { configMapsContract } from "./kube.config-maps.ts";
import { customContract } from "./kube.custom.ts";
import { deletesContract } from "./kube.deletes.ts";
import { eventsContract } from "./kube.events.ts";
import { evictionsContract } from "./kube.evictions.ts";
import { fieldsContract } from "./kube.fields.ts";
import { kubectlContract } from "./kube.kubectl.ts";
import { listsContract } from "./kube.lists.ts";
import { objectsContract } from "./kube.objects.ts";
import { optionsContract } from "./kube.options.ts";
import { patchesContract } from "./kube.patches.ts";
import { portContract } from "./kube.port.ts";
import { type AddressedServer, type ProvidedServer, RawClient } from "./kube.provided.ts";
import { refusalsContract } from "./kube.refusals.ts";
import { tablesContract } from "./kube.tables.ts";
import { watchesContract } from "./kube.watches.ts";

/**
 * Registers the suite for one server. `start` is called once, before the first test; `more` registers more tests;
 * `broken` is why the server cannot serve custom resources.
 */
export function kubeContract<S extends ProvidedServer>(
  start: () => Promise<S>,
  more: (server: () => S) => void = () => {},
  broken: string | null = null,
): void {
  if (broken !== null) console.warn(`custom resources: ${broken}`);
  let server: S;
  let client: RawClient;
  beforeAll(async () => {
    server = await start();
    client = new RawClient(server.wire);
  });
  const compact = (): Promise<void> => server.compact();
  afterAll(() => server.stop());

  describe("objects", () => objectsContract(() => client));
  describe("patches", () => patchesContract(() => client));
  describe("deletes", () => deletesContract(() => client));
  describe("refusals", () => refusalsContract(() => client));
  describe("options", () => optionsContract(() => client, compact));
  describe("unknown fields", () => fieldsContract(() => client));
  describe("events", () => eventsContract(() => client));
  describe("evictions", () => evictionsContract(() => client));
  describe("ConfigMaps", () => configMapsContract(() => client));
  describe("tables", () => tablesContract(() => client));
  describe("the port", () => portContract(() => server));
  if (broken === null) describe("custom resources", () => customContract(() => client));
  more(() => server);
  describe("lists", () => listsContract(() => client, compact));
  describe("watches", () => watchesContract(() => client, compact));
}

/** The contract of a server with an address. */
export function addressContract(server: () => AddressedServer): void {
  describe("access", () => accessContract(server));
  describeWithKube("kubectl", () => kubectlContract(server), ["kubectl"]);
}

function accessContract(server: () => AddressedServer): void {
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
