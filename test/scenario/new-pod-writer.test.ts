/** Scenarios on virtual time: a process that only writes pods starts among countdowns, where pulses are far apart. */
import { expect, test } from "vitest";
import { SERVICE_NAMES } from "../../protocols/ports.ts";
import { VirtualFleet } from "../support/virtual-fleet.ts";

const S = 1000;
/** A pulse period longer than watchBlindMs: the first pulse after a full period comes too late to prove anything. */
const PROFILE = { pulsePeriodMs: 12 * S, pulseTimeoutMs: 38 * S };
const TOLERATED_S = 30;

test("a pod-writer that starts before a deadline evicts in time", () => {
  const world = new VirtualFleet({ profile: PROFILE });
  const [dead] = Array.from({ length: 5 }, (_, index) => world.addNode({ name: `n-${index}` }));
  const key = "node.kubernetes.io/unreachable";
  const tolerations = [{ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: TOLERATED_S }];
  world.addPod("n-0", "pod", { spec: { tolerations } });
  const services = SERVICE_NAMES.filter((name) => name !== "pod-writer");
  world.join("rest", services);
  world.advance(60 * S);
  dead?.stop();
  const isTainted = (): boolean => world.taints("n-0").includes(`${key}:NoExecute`);
  while (!isTainted()) world.advance(S);
  world.advance((TOLERATED_S - 5) * S);
  world.join("writer", ["pod-writer"]);
  world.advance(7 * S);
  const pod = world.read({ kind: "Pod", namespace: "default", name: "pod" });
  expect(pod?.metadata.deletionTimestamp).toBeDefined();
});
