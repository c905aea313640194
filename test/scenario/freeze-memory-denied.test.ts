/** What follows when the ConfigMap that remembers freezes may be read but not written. */
import { describe, expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const isMemoryWrite = ({ verb, resource }: Call): boolean => verb === "patch" && resource.plural === "configmaps";

/** A cluster in which a silent node was frozen for 200 s, 60 s after its last heartbeat. */
class DeniedWorld extends EvictionWorld {
  constructor() {
    super({}, [{ name: "gpu", spec: { selector: {} } }]);
    this.addZone("a", 6);
    this.addTolerantPod("a-0", "pod");
    this.run();
    this.advance(30 * S);
    this.silence(["a-0"]);
    this.advance(60 * S);
  }

  deny(): void {
    this.api.faults.add({ fault: { kind: "status", code: 403 }, when: isMemoryWrite });
  }

  freeze(): void {
    this.#replace([{ name: "oncall" }], "create");
    this.advance(200 * S);
    this.#replace([], "patch");
    this.advance(10 * S);
  }

  warnings(): string {
    return this.logged()
      .filter(({ level }) => level === "warn")
      .map(({ message }) => message)
      .join("\n");
  }

  /** How long the pod kept running on its tainted node, in seconds. */
  get ranS(): number {
    return Math.round(((this.deletedAt("pod") ?? Number.NaN) - (this.taintedAt("a-0") ?? Number.NaN)) / S);
  }

  #replace(requests: unknown, verb: "create" | "patch"): void {
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const data = { pauseRequests: JSON.stringify(requests) };
    if (verb === "patch") {
      this.api.faults.clear();
      this.patch(FREEZE_CONFIG_MAP, { data });
      this.deny();
      return;
    }
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
    this.write({ verb, ref: FREEZE_CONFIG_MAP, urgency: 0, body });
  }
}

describe("a freeze that cannot be remembered", () => {
  test("is warned about once", () => {
    const world = new DeniedWorld();
    world.deny();
    world.freeze();
    const lines = world.warnings().match(/the memory of freezes cannot be written/g);
    expect(lines).toHaveLength(1);
  });

  test("makes countdowns start over after a restart", () => {
    const world = new DeniedWorld();
    world.deny();
    world.freeze();
    const beforeS = (world.clock.monotonicMs() - (world.taintedAt("a-0") ?? 0)) / S;
    world.crash(1 * S);
    world.advance(900 * S);
    expect(world.ranS).toBeGreaterThanOrEqual(Math.floor(beforeS) + 300);
    expect(world.ranS).toBeLessThanOrEqual(Math.ceil(beforeS) + 303);
  });

  test("costs nothing while its process lives", () => {
    const world = new DeniedWorld();
    world.deny();
    world.freeze();
    world.advance(900 * S);
    expect(world.ranS).toBe(500);
  });

  test("is remembered once the right is back", () => {
    const world = new DeniedWorld();
    world.deny();
    world.freeze();
    world.api.faults.clear();
    world.advance(5 * S);
    world.crash(1 * S);
    world.advance(900 * S);
    expect(world.ranS).toBe(500);
  });
});
