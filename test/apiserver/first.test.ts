/** The embedded API as its clients meet it first: create, list, watch and patch over the wire on virtual time. */
import { expect, test } from "vitest";
import { ApiServer } from "../../services/apiserver/apiserver.ts";
import { VirtualClock } from "../../services/runtime/clock.virtual.ts";
import { seededRandom } from "../../services/runtime/random.ts";

test("a node that is created shows up on a watch with the not-ready taint of its admission (R4.22)", () => {
  const clock = new VirtualClock({ wallMs: 1_700_000_000_000 });
  const { wire } = new ApiServer({ clock, random: seededRandom(1) });
  const lines: string[] = [];
  const exchange = {
    response: () => undefined,
    data: (chunk: Uint8Array) => lines.push(Buffer.from(chunk).toString()),
    end: () => undefined,
    failed: () => undefined,
  };
  wire.send({ method: "GET", path: "/api/v1/nodes?watch=1", headers: {}, body: null }, exchange);
  clock.advance(0);
  const body = JSON.stringify({ metadata: { name: "n-1" } });
  wire.send({ method: "POST", path: "/api/v1/nodes", headers: {}, body }, { ...exchange, data: () => undefined });
  clock.advance(0);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { type: "ADDED", object: { spec: { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] } } },
  ]);
});
