/** How the policy service follows the ConfigMap vigil-freeze, and writes its memory there. */
import { beforeEach, describe, expect, test } from "vitest";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import { Urgency } from "../../protocols/ports.ts";
import { frozenAt } from "../../services/domain/paused-time/frozen-time.ts";
import { MemoryHealth } from "../../services/platform/process/memory-health.ts";
import { createMetrics } from "../../services/platform/process/metrics.ts";
import { Freezes } from "../../services/policy/freezes.ts";
import { recordingLog } from "../support/recording-log.ts";
import { VirtualWorld } from "../support/virtual-world.ts";

const S = 1000;
const ONCALL = JSON.stringify([{ name: "oncall" }]);

class FreezeWorld extends VirtualWorld {
  readonly log = recordingLog();

  /** Follows the ConfigMap as another process. */
  follow(): Freezes {
    const { clock, log, profile } = this;
    const metrics = createMetrics();
    const kube = this.createKube("policy", log, metrics);
    const io = { kube, clock, log, profile, policies: { current: () => null, follow: () => () => {} } };
    const freezes: Freezes = new Freezes(io, new MemoryHealth({ clock, log, metrics }), {
      changed: () => freezes.update([]),
      loosened: (confirmed) => clock.soon(confirmed),
    });
    this.advance(5 * S);
    return freezes;
  }

  create(pauseRequests: string): void {
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data: { pauseRequests } };
    this.write({ verb: "create", ref: FREEZE_CONFIG_MAP, body, urgency: Urgency.status });
  }

  change(pauseRequests: string): void {
    this.patch(FREEZE_CONFIG_MAP, { data: { pauseRequests } });
    this.advance(5 * S);
  }

  areAllFrozen(freezes: Freezes): boolean {
    return frozenAt(freezes.frozen(""), this.clock.wallMs()) !== null;
  }

  logged(): string {
    return this.log.lines.map(({ message }) => message).join("\n");
  }
}

let world: FreezeWorld;
beforeEach(() => {
  world = new FreezeWorld();
});

describe("requests that cannot be read", () => {
  test("end no freeze, until they can", () => {
    world.create(ONCALL);
    const freezes = world.follow();
    expect(world.areAllFrozen(freezes)).toBe(true);
    world.change(ONCALL.slice(0, -1));
    expect(world.areAllFrozen(freezes)).toBe(true);
    expect(world.logged()).toContain("is no JSON list; all nodes are frozen until it is one");
    world.change("[]");
    expect(world.areAllFrozen(freezes)).toBe(false);
    freezes.stop();
  });

  test("freeze all nodes where there were none before", () => {
    const freezes = world.follow();
    world.create("[{");
    expect(world.areAllFrozen(freezes)).toBe(true);
    world.change("[]");
    expect(world.areAllFrozen(freezes)).toBe(false);
    freezes.stop();
  });
});

test("a service that is stopped while it writes its memory does not write it again", () => {
  const freezes = world.follow();
  let writes = 0;
  world.api.faults.add({
    fault: { kind: "status", code: 500 },
    when: ({ verb, resource }) => {
      if (resource.plural !== "configmaps" || verb !== "create") return false;
      writes += 1;
      return true;
    },
  });
  freezes.update([{ name: "gpu", spec: { selector: {}, mode: "Freeze" }, changedAt: null }]);
  freezes.stop();
  world.advance(60 * S);
  world.api.faults.clear();
  world.advance(60 * S);
  expect(writes).toBeGreaterThan(0);
  expect(world.read(FREEZE_CONFIG_MAP)).toBeNull();
});

test("an end that a thaw has replaced does not come back with the memory", () => {
  const since = new Date(world.clock.wallMs()).toISOString();
  const until = new Date(world.clock.wallMs() + 60 * S).toISOString();
  world.create(JSON.stringify([{ name: "oncall", since, until }]));
  world.follow().stop();
  const freezes = world.follow();
  world.api.faults.add({
    fault: { kind: "status", code: 500 },
    when: ({ verb, body }) => verb === "patch" && body?.includes("frozen") === true,
  });
  const says = (data: Readonly<Record<string, string>>): void => {
    world.patch(FREEZE_CONFIG_MAP, { data });
    world.advance(60 * S);
  };
  const thawed = new Date(world.clock.wallMs()).toISOString();
  says({ pauseRequests: JSON.stringify([{ name: "oncall", since, until: thawed }]) });
  says({ limits: "{}" });
  expect(freezes.frozen("")).toEqual([{ fromAt: Date.parse(since), toAt: Date.parse(thawed) }]);
  freezes.stop();
});
