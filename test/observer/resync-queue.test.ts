/** Resyncs in steps: one shard after the other, never in one go, and closed only when whoever asked heard all of it. */
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

test("asking does one step and leaves the rest to later turns", () => {
  const { clock, log, resyncs } = queue();
  resyncs.ask(0, "ask");
  expect(log).toEqual(["0a"]);
  clock.advance(0);
  expect(log).toEqual(["0a", "0b", "0c", "0 closed by ask"]);
});

test("shards are told in the order of asking, asks for a waiting shard once", () => {
  const { clock, log, resyncs } = queue();
  resyncs.ask(1, "first");
  for (const cause of ["second", "third"]) resyncs.ask(2, cause);
  clock.advance(0);
  expect(log).toEqual(["1a", "1b", "1c", "1 closed by first", "2a", "2b", "2c", "2 closed by second"]);
});

test("a shard asked for while it is told is told again, and closed only then", () => {
  const { clock, log, resyncs } = queue();
  resyncs.ask(0, "early");
  resyncs.ask(0, "late");
  clock.advance(0);
  expect(log).toEqual(["0a", "0b", "0c", "0a", "0b", "0c", "0 closed by late"]);
});

test("a shard that does not exist is ignored, and nothing is told after the end", () => {
  const { clock, log, resyncs } = queue();
  for (const shard of [64, -1, 0.5, Number.NaN]) resyncs.ask(shard, null);
  expect(log).toEqual([]);
  resyncs.ask(1, null);
  resyncs.stop();
  clock.advance(0);
  expect(log).toEqual(["1a"]);
});

test("an ask between two shards starts no second telling beside the first", () => {
  const { clock, log, resyncs } = queue();
  resyncs.ask(0, "x");
  clock.after(0, () => resyncs.ask(1, "y"));
  clock.advance(0);
  expect(log).toEqual(["0a", "0b", "0c", "0 closed by x", "1a", "1b", "1c", "1 closed by y"]);
});
