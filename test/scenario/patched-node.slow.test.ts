/**
 * Scenarios on virtual time: a client patches a node all the time, faster than the API answers. Vigil's writes still
 * succeed, because the fields they depend on have not changed.
 */
import { describe, expect, test } from "vitest";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld, NOT_READY, UNREACHABLE } from "../support/eviction-world.ts";

const S = 1000;
const PATCH_PERIOD_MS = 150;
/** The grace counts from the last heartbeat at 30 s and is over at the first instant after. */
const SILENT_MS = 80_001;
/** A lease read and a patch that meets a conflict, then a node read, a lease read and the patch that succeeds. */
const REQUESTS = 5;

/** A patch that changes something each time. */
interface UserPatch {
  readonly body: unknown;
  readonly path?: string;
}

const PATCHES: Readonly<Record<string, (count: number) => UserPatch>> = {
  "a label": (count) => ({ body: { metadata: { labels: { count: `${count}` } } } }),
  "an annotation": (count) => ({ body: { metadata: { annotations: { count: `${count}` } } } }),
  "a condition of its own": (count) => {
    const lastHeartbeatTime = new Date(1_700_000_000_000 + count * S).toISOString().replace(".000Z", "Z");
    const condition = { type: "KernelDeadlock", status: "False", lastHeartbeatTime };
    return { body: { status: { conditions: [condition] } }, path: "/status" };
  },
};

/** Six nodes under Vigil on a slow API; a client patches `a-0` all the time. */
class PatchedNode {
  readonly world = new EvictionWorld();
  #isVigils = true;
  #count = 0;

  constructor(patchOf: (count: number) => UserPatch, latencyMs: number) {
    this.world.addZone("a", 6);
    this.world.run();
    this.world.advance(30 * S);
    this.world.silence(["a-0"]);
    const isSlow = ({ verb, name }: Call): boolean => this.#isVigils && name === "a-0" && verb !== "watch";
    const fault = { kind: "latency", requestMs: latencyMs / 2, answerMs: latencyMs / 2 } as const;
    this.world.api.faults.add({ fault, when: isSlow });
    this.#patch(patchOf);
  }

  /** Acts as another client, which the API answers at once. */
  byOthers<T>(act: (world: EvictionWorld) => T): T {
    this.#isVigils = false;
    const result = act(this.world);
    this.#isVigils = true;
    return result;
  }

  #patch(patchOf: (count: number) => UserPatch): void {
    const { body, path = "" } = patchOf(this.#count++);
    const headers = { "content-type": "application/strategic-merge-patch+json" };
    const request = { method: "PATCH", path: `/api/v1/nodes/a-0${path}`, headers, body: JSON.stringify(body) };
    const ignored = { response: () => {}, data: () => {}, end: () => {}, failed: () => {} };
    this.byOthers(({ api }) => api.wire.send(request, ignored));
    this.world.clock.after(PATCH_PERIOD_MS, () => this.#patch(patchOf));
  }
}

describe.each([0, 100, 200, 1_500])("with requests of %d ms", (latencyMs) => {
  test.each(Object.entries(PATCHES))("a silent node becomes Unknown although someone patches %s", (_what, patchOf) => {
    const node = new PatchedNode(patchOf, latencyMs);
    node.world.advance(SILENT_MS - 30 * S + REQUESTS * latencyMs + 1 * S);
    expect(node.byOthers((world) => world.conditions("a-0"))).toContain("Ready=Unknown");
  });

  test.each(Object.entries(PATCHES))("its taints come and go although someone patches %s", (_what, patchOf) => {
    const node = new PatchedNode(patchOf, latencyMs);
    const shown = (): string[] => node.byOthers((world) => world.taints("a-0").toSorted());
    node.world.advance(SILENT_MS - 30 * S + 3 * REQUESTS * latencyMs + 1 * S);
    expect(shown()).toEqual([`${UNREACHABLE}:NoExecute`, `${UNREACHABLE}:NoSchedule`]);
    node.byOthers((world) => world.kubelet("a-0").report("Ready", "False"));
    node.byOthers((world) => world.kubelet("a-0").resume());
    node.world.advance(REQUESTS * latencyMs + 1 * S);
    expect(shown()).toEqual([`${NOT_READY}:NoExecute`, `${NOT_READY}:NoSchedule`]);
    node.byOthers((world) => world.kubelet("a-0").report("Ready", "True"));
    node.world.advance(REQUESTS * latencyMs + 1 * S);
    expect(shown()).toEqual([]);
  });
});
