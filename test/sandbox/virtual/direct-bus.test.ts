/** The bus of a preview hands messages over in order, after the actor that published them. */
import { expect, test } from "vitest";
import { shardOf } from "../../../protocols/subjects.ts";
import { DirectBus } from "../../../services/sandbox/virtual/direct-bus.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";

const gone = (node: string) => ({ node, uid: "u" });

/** A bus, and the nodes of which each subscriber has heard. */
function fixture() {
  const clock = new VirtualClock();
  return { clock, bus: new DirectBus(clock, "m"), heard: [] as string[] };
}

test("a message comes to its shard and to all, once its publisher has finished", () => {
  const { clock, bus, heard } = fixture();
  bus.of("a").subscribe("observed.gone", shardOf("n"), ({ body }) => heard.push(`shard ${body.node}`));
  bus.of("b").subscribe("observed.gone", "all", ({ body, source }) => heard.push(`all ${body.node} ${source}`));
  for (const node of ["n", "m"]) bus.of("observer").publish("observed.gone", gone(node), null);
  expect(heard).toEqual([]);
  clock.advance(0);
  expect(heard).toEqual(["all n observer@m", "shard n", "all m observer@m"]);
});

test("what a message leads to comes after all that was published before", () => {
  const { clock, bus, heard } = fixture();
  bus.of("a").subscribe("observed.gone", "all", ({ body, id }) => {
    heard.push(body.node);
    if (body.node === "n") bus.of("a").publish("observed.gone", gone("later"), id);
  });
  for (const node of ["n", "m"]) bus.of("observer").publish("observed.gone", gone(node), null);
  clock.advance(0);
  expect(heard).toEqual(["n", "m", "later"]);
});

test("a subscription that has ended receives nothing", () => {
  const { clock, bus, heard } = fixture();
  const stop = bus.of("a").subscribe("observed.gone", "all", ({ body }) => heard.push(body.node));
  bus.of("observer").publish("observed.gone", gone("n"), null);
  stop();
  clock.advance(0);
  expect(heard).toEqual([]);
});
