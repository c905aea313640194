/** Backoff of the ledger's store: from a second to a minute. */
import { describe, expect, test } from "vitest";
import { openLedgerStore } from "../../../services/ledger/record/ledger.store.ts";
import { createMetrics } from "../../../services/platform/process/metrics.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { UID } from "./store-world.ts";

/** When a store without an answer from NATS tries to connect, in milliseconds from its start, and what it logs. */
async function triesWithin(ms: number): Promise<{ readonly tries: number[]; readonly said: readonly string[] }> {
  const clock = new VirtualClock();
  const tries: number[] = [];
  const log = recordingLog();
  const store = openLedgerStore({
    connect: async () => {
      tries.push(clock.monotonicMs());
      throw new Error("JetStream system temporarily unavailable");
    },
    cluster: "test",
    clusterUid: UID,
    clock,
    log,
    metrics: createMetrics(),
  });
  for (let second = 0; second < ms / 1000; second++) {
    await new Promise(setImmediate);
    clock.advance(1000);
  }
  store.close();
  return { tries, said: log.lines.filter(({ level }) => level !== "debug").map(({ message }) => message) };
}

describe("a store without JetStream", () => {
  test("retries after 1 s, then with backoff up to a minute", async () => {
    const { tries } = await triesWithin(200_000);
    expect(tries).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183].map((second) => second * 1000));
  });

  test("says so once", async () => {
    const { said } = await triesWithin(200_000);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("history is kept in memory only, JetStream is not available");
  });
});
