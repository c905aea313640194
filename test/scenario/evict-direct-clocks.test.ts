/**
 * Scenarios of direct mode on virtual time where the clock of a kubelet is wrong. How long its node has been NotReady
 * is the difference of two stamps of that one clock, also across a restart of Vigil.
 */
import { describe, expect, test } from "vitest";
import { apiTime } from "../../services/domain/api-time.ts";
import { EVICTING, EvictionWorld } from "../support/eviction-world.ts";
import { TestKubelet } from "../support/test-kubelet.ts";
import { OBSERVER } from "./spine.ts";

const S = 1000;
/** API stamps are cut to seconds, so the difference of two of them may be too long by this much. */
const STAMP_MS = 1000;
const STATUS_PERIOD_MS = 10 * S;
const OFF_MS = [-600 * S, 0, 600 * S];

/** Four nodes. The clock of the kubelet of `odd` is off; the kubelet reports Ready=False at 60 s. */
function notReadyAt60(offMs: number, statusPeriodMs: number): EvictionWorld {
  const world = new EvictionWorld({ evictionMode: "direct" });
  world.addZone("a", 3);
  const { clock, kube } = world;
  const skewed = {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs() + offMs,
    after: (delayMs: number, fire: () => void) => clock.after(delayMs, fire),
    soon: (run: () => void) => clock.soon(run),
  };
  const labels = { "topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "a" };
  const kubelet = new TestKubelet(kube, skewed, { name: "odd", labels, statusPeriodMs });
  kubelet.register();
  world.advance(0);
  world.addTolerantPod("odd", "pod");
  clock.after(60 * S, () => kubelet.report("Ready", "False"));
  return world;
}

describe.each(OFF_MS)("a node whose clock is off by %d ms", (offMs) => {
  test("is drained in time although Vigil restarts", () => {
    const world = notReadyAt60(offMs, STATUS_PERIOD_MS);
    world.run();
    world.advance(100 * S);
    world.crash(30 * S);
    world.advance(400 * S);
    expect(world.deletedAt("pod")).toBeGreaterThan(360 * S);
    expect(world.deletedAt("pod")).toBeLessThanOrEqual(360 * S + STATUS_PERIOD_MS + STAMP_MS + 1);
  });

  test("is judged by its renewals, not its status", () => {
    const world = notReadyAt60(offMs, 3600 * S);
    const { observer: _elsewhere, ...judging } = EVICTING;
    world.start(OBSERVER);
    const process = world.start(judging);
    world.advance(200 * S);
    process.kill();
    world.start(judging);
    world.advance(300 * S);
    expect(world.deletedAt("pod")).toBeGreaterThan(360 * S);
    expect(world.deletedAt("pod")).toBeLessThanOrEqual(360 * S + STAMP_MS + 1);
  });
});

test("a node whose clock is set forward is drained no earlier after a restart", () => {
  const world = new EvictionWorld({ evictionMode: "direct" });
  world.addZone("a", 3);
  world.run();
  world.advance(10 * S);
  world.addTolerantPod("a-0", "pod");
  world.silence(["a-0"]);
  // The machine boots with the clock of its firmware, and NTP corrects it after the first post.
  const bootedAt = "2020-01-01T00:00:10Z";
  const post = (lastHeartbeatTime: string): void => {
    const ready = { type: "Ready", status: "False", lastTransitionTime: bootedAt, lastHeartbeatTime };
    world.patch({ kind: "Node", namespace: "", name: "a-0" }, { status: { conditions: [ready] } }, "status");
  };
  post(bootedAt);
  world.advance(20 * S);
  post(apiTime(world.clock.wallMs()));
  world.crash(5 * S);
  world.advance(20 * S);
  post(apiTime(world.clock.wallMs()));
  world.advance(270 * S);
  expect(world.deleted).toEqual([]);
});
