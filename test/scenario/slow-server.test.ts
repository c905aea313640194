/** Many verdicts at once on a server that answers slowly: each is sent while the look it rests on is still good. */
import { expect, test } from "vitest";
import type { Call } from "../../services/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const NODES = 200;
const PODS_PER_NODE = 4;
const LATENCY_MS = 40;
const IN_FLIGHT = 8;

/** Half of these nodes fall silent; requests about single objects are slow, and few may be under way. */
function silencedOnSlowServer(): EvictionWorld {
  const world = new EvictionWorld({ writesInFlightMax: IN_FLIGHT });
  const names = world.addZone("a", NODES);
  for (const node of names) for (let pod = 0; pod < PODS_PER_NODE; pod++) world.addTolerantPod(node, `${node}-${pod}`);
  world.run();
  world.advance(30 * S);
  const isSlow = ({ verb, resource }: Call) => ["get", "patch"].includes(verb) && resource.plural !== "leases";
  world.api.faults.add({ fault: { kind: "latency", answerMs: LATENCY_MS }, when: isSlow });
  world.silence(names.slice(0, NODES / 2));
  return world;
}

test("no write waits until what was read for it is too old, and every node and pod is marked", () => {
  const world = silencedOnSlowServer();
  world.advance(90 * S);
  const done = world.said("done.write").map(({ body }) => body);
  const failed = done.filter(({ outcome }) => outcome === "failed");
  expect(failed.map(({ ask, detail }) => `${ask} ${detail}`)).toEqual([]);
  const marked = (ask: string) =>
    new Set(done.filter((each) => each.ask === ask && each.outcome === "ok").map(({ uid }) => uid));
  expect(marked("asked.condition").size).toBe(NODES / 2);
  expect(marked("asked.unready").size).toBe((NODES / 2) * PODS_PER_NODE);
});
