/** Resyncs in steps: one shard after the other, each closed only when every requester received all of it. */
import { expect, test } from "vitest";
import { ResyncQueue } from "../../services/observer/resync-queue.ts";
import { VirtualClock } from "../support/clock.virtual.ts";

/** A queue over three shards of three steps each, with a log of what it did. */
function queue() {
  const clock = new VirtualClock();
  const log: string[] = [];
  const job = (shard: number) => ({
    *begin() {
      for (const step of ["a", "b", "c"]) {
        log.push(`${shard}${step}`);
        if (step !== "c") yield;
      }
    },
    close: (cause: string | null) => log.push(`${shard} closed by ${cause}`),
  });
  return { clock, log, resyncs: new ResyncQueue(clock, [job(0), job(1), job(2)]) };
}

test("a request does one step and leaves the rest to later turns", () => {
  const { clock, log, resyncs } = queue();
  resyncs.request(0, "request");
  expect(log).toEqual(["0a"]);
  clock.advance(0);
  expect(log).toEqual(["0a", "0b", "0c", "0 closed by request"]);
});

test("shards resync in order of request, a waiting shard only once", () => {
  const { clock, log, resyncs } = queue();
  resyncs.request(1, "first");
  for (const cause of ["second", "third"]) resyncs.request(2, cause);
  clock.advance(0);
  expect(log).toEqual(["1a", "1b", "1c", "1 closed by first", "2a", "2b", "2c", "2 closed by second"]);
});

test("a shard requested during its resync is published again before it closes", () => {
  const { clock, log, resyncs } = queue();
  resyncs.request(0, "early");
  resyncs.request(0, "late");
  clock.advance(0);
  expect(log).toEqual(["0a", "0b", "0c", "0a", "0b", "0c", "0 closed by late"]);
});

test("an unknown shard is ignored, and nothing is published after stop", () => {
  const { clock, log, resyncs } = queue();
  for (const shard of [64, -1, 0.5, Number.NaN]) resyncs.request(shard, null);
  expect(log).toEqual([]);
  resyncs.request(1, null);
  resyncs.stop();
  clock.advance(0);
  expect(log).toEqual(["1a"]);
});

test("a request between two shards starts no second resync beside the first", () => {
  const { clock, log, resyncs } = queue();
  resyncs.request(0, "x");
  clock.after(0, () => resyncs.request(1, "y"));
  clock.advance(0);
  expect(log).toEqual(["0a", "0b", "0c", "0 closed by x", "1a", "1b", "1c", "1 closed by y"]);
});
