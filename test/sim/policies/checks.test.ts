/** Harm that the checks of policies allow, because something else explains when it was done, and harm they catch. */
import { describe, expect, test } from "vitest";
import { apiMicroTime } from "../../../services/domain/api-time.ts";
import { CLOCK_ERROR_MS } from "../fault-bounds.ts";
import { BrokenInvariant } from "../invariants.ts";
import { drawSwarm, type FaultClass } from "../swarm.ts";
import { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { PolicyChecks } from "./checks.ts";
import { POOL_LABEL } from "./pools.ts";

const S = 1000;
/** When the freeze of pool a begins and ends, after it was planned. */
const [BEGIN_MS, END_MS] = [30 * S, 60 * S];

/** The checks of a run with one policy, for the nodes of pool a. */
function checksOf(
  specAt: (nowMs: number) => object,
  faults: readonly FaultClass[],
  evictionMode: "taint" | "direct" = "taint",
) {
  const { plot: _, hindrance: __, ...drawn } = drawSwarm(1, { policies: true });
  if (drawn.policies === undefined) throw new Error("a run with policies has drawn them");
  const policies = { ...drawn.policies, isExact: true };
  const profile = { ...drawn.profile, evictionMode };
  const world = new World({ ...drawn, profile, plot: null, zones: [], faults: new Set(faults), policies });
  // Until the definitions are served.
  world.clock.advance(S);
  const checks = new PolicyChecks({ world, count: () => {} });
  const [resource] = world.api.catalog.customAt(POLICIES_STORAGE);
  if (resource === undefined) throw new Error("the world serves NodePolicy");
  const spec = { selector: { matchLabels: { [POOL_LABEL]: "a" } }, ...specAt(world.clock.wallMs()) };
  const policy = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "a" }, spec };
  world.asWorld(() => world.api.registry.create(resource, "", policy));
  return { world, checks };
}

function nodeOf(name: string, status: "True" | "False" | "Unknown") {
  const metadata = { name, uid: name, labels: { [POOL_LABEL]: "a" } };
  return { metadata, status: { conditions: [{ type: "Ready", status }] } };
}

/** Admits a node of pool a so long after its freeze was planned. */
function admittedAfter(ms: number, faults: readonly FaultClass[]): () => void {
  const planned = (nowMs: number) => ({
    pauseRequests: [{ name: "oncall", since: apiMicroTime(nowMs + BEGIN_MS), until: apiMicroTime(nowMs + END_MS) }],
  });
  const { world, checks } = checksOf(planned, faults);
  const node = nodeOf("n", "False");
  // One of two is down, so its zone is not stopped.
  checks.node(nodeOf("other", "True"), false);
  checks.node(node, false);
  world.clock.advance(ms);
  return () => checks.onAdmitted(node);
}

describe("harm in a planned freeze", () => {
  const WRONG: readonly FaultClass[] = ["wrongClocks"];

  test.each([
    ["it begins and a clock is behind", BEGIN_MS + CLOCK_ERROR_MS, WRONG],
    ["it ends and a clock is ahead", END_MS - CLOCK_ERROR_MS, WRONG],
    ["it has just begun", BEGIN_MS + S / 2, []],
  ] as const)("is allowed where %s", (_what, ms, faults) => {
    expect(admittedAfter(ms, faults)).not.toThrow();
  });

  test.each([
    ["it has begun by every clock", BEGIN_MS + CLOCK_ERROR_MS + 2 * S, WRONG],
    ["it has begun by right clocks", BEGIN_MS + 2 * S, []],
    ["it ends in a moment by right clocks", END_MS - 1, []],
  ] as const)("is caught where %s", (_what, ms, faults) => {
    expect(admittedAfter(ms, faults)).toThrow(BrokenInvariant);
  });
});

describe("pods that go after another node's", () => {
  /**
   * Both nodes of a policy whose breaker allows one were silent. The second one, whose last heartbeat is dated so far
   * ahead, has returned and is not ready.
   */
  function emptiedAfterAnother(aheadMs: number): () => void {
    const breaker = () => ({ circuitBreaker: { maxNodes: 1, duration: "20s", resetAfter: "15s" } });
    const { world, checks } = checksOf(breaker, ["wrongClocks"], "direct");
    for (let index = 0; index < 9; index++) checks.node(nodeOf(`ready-${index}`, "True"), false);
    const nowMs = world.clock.wallMs();
    world.signs.note("late", "lease", nowMs, nowMs + aheadMs);
    for (const name of ["first", "late"]) checks.node(nodeOf(name, "True"), false);
    world.clock.advance(30 * S);
    for (const name of ["first", "late"]) checks.node(nodeOf(name, "Unknown"), false);
    world.clock.advance(60 * S);
    checks.evicted("first");
    checks.node(nodeOf("late", "False"), false);
    world.clock.advance(5 * S);
    return () => checks.evicted("late");
  }

  test("are allowed where they waited", () => {
    expect(emptiedAfterAnother(200 * S)).not.toThrow();
  });

  test("are caught where nothing held them", () => {
    expect(emptiedAfterAnother(0)).toThrow("2 nodes of policy a were admitted within 20000 ms, not 1");
  });
});

describe("a drain after a full window", () => {
  /** Both nodes had been down for two minutes, then there was an outage, or a freeze before that ended just now. */
  function drainedAfterAnother({ outageSeconds = 0, isFrozen = false }): () => void {
    const circuitBreaker = { maxNodes: 1, duration: "20s", resetAfter: "90s" };
    const policy = (nowMs: number) => ({
      circuitBreaker,
      ...(isFrozen && {
        pauseRequests: [{ name: "oncall", since: apiMicroTime(nowMs), until: apiMicroTime(nowMs + 119 * S) }],
      }),
    });
    const { world, checks } = checksOf(policy, [], "direct");
    const ready = Array.from({ length: 9 }, (_, index) => nodeOf(`ready-${index}`, "True"));
    const pass = (seconds: number, isHeard: boolean): void => {
      for (let second = 0; second < seconds; second++) {
        const nowMs = world.clock.wallMs();
        for (const { metadata } of ready) world.signs.note(metadata.name, "lease", nowMs, nowMs);
        if (isHeard) world.heard.accepted("ready-0", "lease", nowMs, nowMs);
        for (const node of ready) checks.node(node, false);
        world.clock.advance(S);
      }
    };
    for (const node of ready) checks.node(node, false);
    for (const name of ["first", "second"]) checks.node(nodeOf(name, "Unknown"), false);
    pass(120, true);
    pass(outageSeconds, false);
    pass(1, true);
    checks.evicted("first");
    pass(25, true);
    return () => checks.evicted("second");
  }

  test.each([
    ["an outage", { outageSeconds: 60 }],
    ["a freeze", { isFrozen: true }],
  ])("is allowed where %s delayed it", (_what, delay) => {
    expect(drainedAfterAnother(delay)).not.toThrow();
  });

  test("is caught where nothing delayed it", () => {
    expect(drainedAfterAnother({})).toThrow("into a storm of policy a (circuitBreaker)");
  });
});
