/**
 * Vigil in many processes over a real nats-server under the deployed roles: each can do its work, and no more is asked.
 */
import { expect, test } from "vitest";
import { SERVICE_NAMES, type ServiceName } from "../../protocols/ports.ts";
import { metricValue } from "../support/metric-value.ts";
import { hear } from "../support/nats-links.ts";
import { describeWithEachNats } from "../support/nats-programs.ts";
import { recordingLog } from "../support/recording-log.ts";
import { until } from "../support/until.ts";
import { cluster, connectAs, createPod, natsWithRoles, startProcess, taintsOf, untilShown } from "./nats-world.ts";

type Split = Readonly<Record<string, readonly ServiceName[]>>;

const READERS_AND_WRITERS: Split = {
  reader: ["observer", "node", "zone", "taint-manager"],
  writer: ["node-writer", "pod-writer", "ledger"],
};
/** What each process runs, by its role, and whether it has a user of its own. */
const SPLITS: [string, Split, boolean][] = [
  ["a process for each service", Object.fromEntries(SERVICE_NAMES.map((name) => [name, [name]])), false],
  ["readers apart from writers", READERS_AND_WRITERS, false],
  ["readers apart from writers, a user each", READERS_AND_WRITERS, true],
];

const memberOf = (role: string) => `${role}-0`;

describeWithEachNats("under the deployed roles", () => {
  test.each(SPLITS)(
    "%s: a silent node is tainted, its pods are evicted, and it heals",
    async (_how, processes, isUserEach) => {
      const members = Object.keys(processes).map((role) => ({ role, member: memberOf(role) }));
      const { server, keys } = await natsWithRoles(isUserEach ? members : []);
      const { kubeOf, kube, nodes, read } = cluster(["node-1", "node-2", "node-3", "node-4"]);
      const log = recordingLog();
      const connected = (role: string) => {
        const user = isUserEach && role !== "inspector" ? memberOf(role) : role;
        return connectAs(server.url, keys, role, user, log);
      };
      // It subscribes before anything is judged: an unchanged judgement is published once.
      const inspector = await connected("inspector");
      const judged = hear(inspector.transport, "vigil.v1.prod.judged.node.*.node-1");
      await inspector.transport.flush();
      const links = await Promise.all(Object.keys(processes).map(connected));
      for (const each of links) {
        const { role, metrics } = each;
        const services = processes[role] ?? [];
        startProcess(each, { services, member: memberOf(role), kube: kubeOf(metrics), log });
      }
      await untilShown("node-1 is at the API", async () => (await read("Node", "node-1")) !== null);
      createPod(kube, "web", "node-1");
      await untilShown("node-1 is well", async () => taintsOf(await read("Node", "node-1")).length === 0);
      await until("it is judged ready", () => judged.some((text) => text.includes('"readiness":"ready"')));
      nodes.stop({ names: ["node-1"] });
      await untilShown("node-1 is tainted", async () =>
        taintsOf(await read("Node", "node-1")).includes("unreachable:NoExecute"),
      );
      await untilShown("its pod is evicted", async () => {
        const pod = await read("Pod", "web");
        return pod === null || pod.metadata.deletionTimestamp !== undefined;
      });
      nodes.resume({ names: ["node-1"] });
      await untilShown("node-1 is healed", async () => taintsOf(await read("Node", "node-1")).length === 0);
      for (const { role, metrics } of [...links, inspector]) {
        const refused = await metricValue(metrics, "vigil_nats_permission_violations_total");
        expect({ role, refused }).toEqual({ role, refused: 0 });
      }
      for (const { role, metrics } of links) {
        const dropped = await metricValue(metrics, "vigil_bus_dropped_total", { reason: "forbidden" });
        expect({ role, dropped }).toEqual({ role, dropped: 0 });
      }
      expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
    },
  );
});
