/** The contract of the Kubernetes API: one suite that the real kube-apiserver and the embedded one must pass alike. */
import { afterAll, beforeAll, describe } from "vitest";
import { accessContract } from "./kube.access.ts";
import { deletesContract } from "./kube.deletes.ts";
import { eventsContract } from "./kube.events.ts";
import { listsContract } from "./kube.lists.ts";
import { objectsContract } from "./kube.objects.ts";
import { patchesContract } from "./kube.patches.ts";
import { portContract } from "./kube.port.ts";
import { type ProvidedServer, RawClient } from "./kube.provided.ts";
import { tablesContract } from "./kube.tables.ts";
import { watchesContract } from "./kube.watches.ts";

/** Registers the suite for one server; `start` is called once, before the first test. */
export function kubeContract(start: () => Promise<ProvidedServer>): void {
  let server: ProvidedServer;
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
  describe("access", () => accessContract(() => server));
  describe("events", () => eventsContract(() => client));
  describe("tables", () =>
    tablesContract(
      () => server,
      () => client,
    ));
  describe("the port", () => portContract(() => server));
  describe("lists", () => listsContract(() => client, compact));
  describe("watches", () => watchesContract(() => client, compact));
}
