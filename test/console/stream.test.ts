/** The limit on pages that follow the console's event stream, without a socket. */
import { expect, test } from "vitest";
import { EventStream, FOLLOWERS_MAX } from "../../services/console/console.events.ts";
import { judgedZone, ledgerWorld } from "../ledger/ledger-world.ts";

test("the event stream takes a limited number of pages of all clients together", () => {
  const world = ledgerWorld();
  const stream = new EventStream(world.clock, world.ledger.reader);
  const follow = (client: string) => stream.follow({ client, send: () => true, end: () => {} });
  const taken = Array.from({ length: FOLLOWERS_MAX + 1 }, (_, at) => follow(`10.0.0.${at}`));
  expect(taken.filter(Boolean).length).toBe(FOLLOWERS_MAX);
  expect(taken.at(-1)).toBe(false);
  stream.stop();
});

test.each([
  [false, ["snapshot", "decision", "decision"]],
  [true, ["snapshot", "decision"]],
])("a client that follows from now on (%s) gets the past: %j", (isFromNow, events) => {
  const world = ledgerWorld();
  const stream = new EventStream(world.clock, world.ledger.reader);
  const sent: string[] = [];
  world.receive("judged.zone", judgedZone(), null);
  stream.follow({ client: "a", isFromNow, send: (text) => sent.push(text) > 0, end: () => {} });
  world.receive("judged.zone", judgedZone({ state: "FullDisruption" }), null);
  expect([...sent.join("").matchAll(/^event: (.*)$/gm)].map(([, name]) => name)).toEqual(events);
  stream.stop();
});
