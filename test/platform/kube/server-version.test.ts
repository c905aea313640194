/** The version of the API server: how it is read, and how long it is kept. */
import { expect, test } from "vitest";
import { KeptServerVersion } from "../../../services/platform/kube/transport/server-version.ts";
import { VirtualClock } from "../../support/clock.virtual.ts";
import { ScriptedWire } from "./scripted-wire.ts";

const MINUTE = 60_000;

function stage() {
  const clock = new VirtualClock();
  const wire = new ScriptedWire();
  const version = new KeptServerVersion({ wire, clock });
  const answers: (number | null)[] = [];
  const ask = (): void => version.minor((minor) => answers.push(minor));
  return { clock, wire, answers, ask };
}

test.each([
  [{ major: "1", minor: "20" }, 20],
  [{ major: "1", minor: "27+" }, 27],
  [{ major: "2", minor: "1" }, null],
  [{ major: "1", minor: "" }, null],
  [{ major: "1" }, null],
  ["not JSON", null],
])("the server says %j: its minor version is %s", (body, minor) => {
  const { wire, answers, ask } = stage();
  ask();
  expect(wire.next().path).toBe("/version");
  wire.requests[0]?.answer(200, body);
  expect(answers).toEqual([minor]);
});

test("one request answers everybody who asks meanwhile, and later ones for ten minutes", () => {
  const { clock, wire, answers, ask } = stage();
  for (let count = 0; count < 3; count++) ask();
  wire.next().answer(200, { major: "1", minor: "25" });
  expect(answers).toEqual([25, 25, 25]);
  clock.advance(10 * MINUTE - 1);
  ask();
  expect(answers).toHaveLength(3);
  clock.advance(1);
  expect(answers).toEqual([25, 25, 25, 25]);
  ask();
  wire.next().answer(200, { major: "1", minor: "26" });
  expect(answers.at(-1)).toBe(26);
  expect(wire.requests).toHaveLength(2);
});

test("a server that does not say it is asked again after a minute", () => {
  const { clock, wire, answers, ask } = stage();
  ask();
  wire.next().answer(403, {});
  clock.advance(MINUTE);
  ask();
  wire.next().fail();
  clock.advance(MINUTE - 1);
  ask();
  expect(wire.waiting).toBe(0);
  clock.advance(1);
  ask();
  wire.next().answer(200, { major: "1", minor: "36" });
  expect(answers).toEqual([null, null, null, 36]);
});
