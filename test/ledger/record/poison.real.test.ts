/** No message and no stored entry crashes a ledger, however absurd its content. */
import { afterEach, expect, test } from "vitest";
import { frameId } from "../../../protocols/frame.ts";
import type { AnyMessage } from "../../../protocols/messages.ts";
import { shardOf } from "../../../protocols/subjects.ts";
import { subjectFor } from "../../../protocols/wire.ts";
import { storeNames } from "../../../services/ledger/record/ledger.store.streams.ts";
import { metricValue } from "../../support/metric-value.ts";
import { describeWithEachNats } from "../../support/nats-programs.ts";
import { until } from "../../support/until.ts";
import { ledgerWorld, UNREACHABLE, WEB } from "../ledger-world.ts";
import { join, serve, stopAll, timeline, UID, unknown } from "./store-world.ts";

afterEach(stopAll);

const POISON: AnyMessage = {
  type: "asked.eviction",
  id: frameId("taint-manager@m-1", 1, "asked.eviction", shardOf(WEB.node), 1),
  source: "taint-manager@m-1",
  at: 1_795_437_315_250,
  cause: null,
  body: { ...WEB, mode: "taint", deadlineAt: 1e300, taint: UNREACHABLE },
};
const subject = subjectFor("test", "asked.eviction", POISON.body);
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

test("an eviction with an absurd time is dropped and counted", async () => {
  const { transport, clock, ledger, metrics, receive } = ledgerWorld();
  transport.publish(subject, bytesOf({ v: 1, ...POISON }));
  clock.advance(0);
  receive("judged.node", unknown("n-1"), null);
  expect(await metricValue(metrics, "vigil_actor_failures_total", { service: "ledger" })).toBe(0);
  expect(await metricValue(metrics, "vigil_bus_dropped_total", { reason: "malformed", type: POISON.type })).toBe(1);
  expect(ledger.reader.pendingEvictions(1)).toEqual([]);
  expect(ledger.reader.explainNode("n-1")).not.toBeNull();
});

describeWithEachNats("a new ledger", () => {
  test("skips and counts unreadable entries", async () => {
    const server = await serve(true);
    const first = await join(server);
    await until("the store is ready", () => first.store.ready());
    const { connection } = first.transport;
    const { states: bucket, compared } = storeNames({ cluster: "test", clusterUid: UID });
    connection.publish(subject, bytesOf({ v: 1, ...POISON }));
    connection.publish(`$KV.${bucket}.judged.pod.default.web`, bytesOf({ v: 1, ...POISON }));
    connection.publish(`$KV.${bucket}.judged.pod.default.other`, Uint8Array.of(0xff, 0x00));
    connection.publish(`$KV.${compared}.node.n-1.0`, bytesOf({ kind: "node", node: "n-1" }));
    connection.publish(`$KV.${compared}.node.n-1.1`, Uint8Array.of(0xff, 0x00));
    first.judge.publish("judged.node", unknown("n-1"), null);
    await until("the ledger received it", () => timeline(first, "n-1").length === 1);
    await first.transport.flush();
    await first.stop();

    const second = await join(server);
    const unreadable = () => metricValue(second.metrics, "vigil_ledger_store_unreadable_total");
    await until("all are read", async () => (await unreadable()) === 5);
    await until("the history is back", () => timeline(second, "n-1").length === 1);
    const lines = second.log.lines.filter(({ message }) => message.includes("unreadable"));
    expect(lines).toHaveLength(3);
  });
});
