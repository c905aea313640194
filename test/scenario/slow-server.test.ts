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

test("a server that asks for half a minute of peace gets it from verdicts and evictions, however often they are asked", () => {
  const world = new EvictionWorld();
  world.addZone("a", 6);
  world.addTolerantPod("a-1", "pod", []);
  world.run();
  world.advance(10_000);
  world.api.faults.add({
    fault: { kind: "status", code: 429, retryAfterSeconds: 30 },
    when: ({ verb, name, subresource }) => (name === "a-0" ? subresource === "status" : verb === "delete"),
  });
  world.silence(["a-0"]);
  world.taint("a-1", [{ key: "maintenance", effect: "NoExecute" }]);
  world.advance(300_000);
  for (const ask of ["asked.condition", "asked.eviction"]) {
    const tries = world.said("done.write").filter(({ body }) => body.ask === ask && body.outcome === "throttled");
    expect(tries.length).toBeGreaterThan(2);
    for (const [index, { atMs }] of tries.slice(1).entries()) {
      expect(atMs - (tries[index]?.atMs ?? 0), ask).toBeGreaterThanOrEqual(30_000);
    }
  }
});
