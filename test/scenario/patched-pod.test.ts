/**
 * Scenarios on virtual time: a client patches a pod all the time, faster than the API answers. Vigil still marks it not
 * ready with its node, because the fields that the mark depends on have not changed.
 */
import { describe, expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const PATCH_PERIOD_MS = 150;
const POD = "pod-0";
/** From the silence of the node until it is Unknown: the age of the last lease, and the grace. */
const GRACE_MS = 50 * S;
/** The writes about the node, the first mark, which meets a conflict, the two reads after it, and the second mark. */
const REQUESTS = 6;

/** A patch that changes something each time, of the pod or of its status. */
const PATCHES: Readonly<Record<string, readonly [path: string, body: (count: number) => unknown]>> = {
  "a label": ["", (count) => ({ metadata: { labels: { count: `${count}` } } })],
  "an annotation": ["", (count) => ({ metadata: { annotations: { count: `${count}` } } })],
  "a condition of its own": [
    "/status",
    (count) => ({ status: { conditions: [{ type: "example.com/Warm", status: "True", message: `${count}` }] } }),
  ],
};

/** A silent node under Vigil on a slow API, with a pod that a client patches all the time. */
function patchedPod([path, body]: readonly [string, (count: number) => unknown], latencyMs: number): EvictionWorld {
  const world = new EvictionWorld();
  let isVigils = true;
  let count = 0;
  world.addZone("a", 3);
  world.addTolerantPod("a-0", POD);
  world.run();
  world.advance(30 * S);
  world.silence(["a-0"]);
  const isSlow = ({ verb, name }: Call): boolean => isVigils && name === POD && verb !== "watch";
  const fault = { kind: "latency", requestMs: latencyMs / 2, answerMs: latencyMs / 2 } as const;
  world.api.faults.add({ fault, when: isSlow });
  const patch = (): void => {
    const headers = { "content-type": "application/strategic-merge-patch+json" };
    const where = { method: "PATCH", path: `/api/v1/namespaces/default/pods/${POD}${path}` };
    isVigils = false;
    world.api.wire.send(
      { ...where, headers, body: JSON.stringify(body(count++)) },
      { response: () => {}, data: () => {}, end: () => {}, failed: () => {} },
    );
    isVigils = true;
    world.clock.after(PATCH_PERIOD_MS, patch);
  };
  patch();
  return world;
}

describe.each([0, 100, 200, 1_500])("with requests of %d ms", (latencyMs) => {
  test.each(Object.entries(PATCHES))("a silent node's pod is marked although someone patches %s", (_what, patch) => {
    const world = patchedPod(patch, latencyMs);
    world.advance(GRACE_MS + REQUESTS * latencyMs + 1 * S);
    const { status } = JSON.parse(world.api.store.collection("pods").get("default", POD)?.json ?? "{}");
    const ready = status.conditions.find(({ type }: { type: string }) => type === "Ready");
    expect(ready).toMatchObject({ status: "False" });
  });
});
