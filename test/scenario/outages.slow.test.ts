/**
 * Scenarios on virtual time: the API server, or everything, is away while countdowns run. Nodes that live keep their
 * pods, and the others lose them after the rest of their countdowns.
 */
import { describe, expect, test } from "vitest";
import { FREEZE_CONFIG_MAP, HEARTBEATS_LEASE } from "../../protocols/names.ts";
import { Urgency } from "../../protocols/ports.ts";
import { epochMsOf } from "../../services/domain/api-time.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { recordOf, textOf } from "../../services/structures/json.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const { namespace, name } = FREEZE_CONFIG_MAP;
const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name } };
const TOLERATED_MS = 300 * S;
const GRACE_MS = 50 * S;
/** A taint is stamped in whole seconds, and a pulse, a write and a watch event pass before an eviction. */
const PROMPT_MS = 15 * S;

/** A zone of `size` nodes of which the first `silent` stop at 30 s, each with a pod of default tolerations. */
function fixture(size: number, silent: number): { world: EvictionWorld; names: string[]; ill: string[] } {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 }, []);
  const names = world.addZone("a", size);
  const ill = names.slice(0, silent);
  for (const name of ill) world.addTolerantPod(name, `pod-${name}`);
  world.run();
  world.advance(30 * S);
  world.silence(ill);
  world.advance(100 * S);
  expect(ill.map((name) => world.taintedAt(name))).not.toContain(undefined);
  return { world, names, ill };
}

/** Stops the API server and all kubelets for a time; `returning` renew their leases at once afterwards. */
function outage(world: EvictionWorld, all: readonly string[], ms: number, returning: readonly string[]): void {
  world.silence(all);
  const back = world.api.faults.refuse();
  world.advance(ms);
  back();
  for (const name of returning) world.kubelet(name).renew();
  world.advance(9 * S);
  for (const name of returning) {
    world.kubelet(name).resume();
    world.kubelet(name).post();
  }
}

describe("an outage longer than countdowns", () => {
  test("no pod of a node that lives is deleted", () => {
    const { world, names } = fixture(20, 3);
    outage(world, names, 600 * S, names);
    world.advance(900 * S);
    expect(world.deleted).toEqual([]);
    expect(world.healed).toHaveLength(3);
  });

  test("a dead node loses its pods after its rest", () => {
    const { world, names } = fixture(20, 1);
    const fromMs = world.clock.monotonicMs();
    outage(world, names, 600 * S, names.slice(1));
    const outageMs = 600 * S;
    world.advance(900 * S);
    const dueMs = (world.taintedAt("a-0") ?? 0) + TOLERATED_MS + outageMs;
    expect(fromMs).toBeLessThan(dueMs);
    expect(world.deletedAt("pod-a-0")).toBeGreaterThanOrEqual(dueMs - S);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(dueMs + PROMPT_MS);
  });

  test("a pod due soon waits for the grace", () => {
    const { world, names } = fixture(20, 1);
    world.advance(TOLERATED_MS + (world.taintedAt("a-0") ?? 0) - world.clock.monotonicMs() - 5 * S);
    outage(world, names, 600 * S, names.slice(1));
    const endMs = world.clock.monotonicMs() - 9 * S;
    world.advance(300 * S);
    expect(world.deletedAt("pod-a-0")).toBeGreaterThanOrEqual(endMs + GRACE_MS);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(endMs + GRACE_MS + PROMPT_MS);
  });

  test("half a zone of 20 keeps its pods", () => {
    const { world, names } = fixture(20, 10);
    outage(world, names, 900 * S, names);
    world.advance(900 * S);
    expect(world.deleted).toEqual([]);
  });

  test("none of less than two renewals", () => {
    const { world, names } = fixture(20, 1);
    const back = world.api.faults.refuse();
    world.silence(names.slice(1));
    world.advance(8 * S);
    back();
    world.revive(names.slice(1));
    world.advance(600 * S);
    const dueMs = (world.taintedAt("a-0") ?? 0) + TOLERATED_MS;
    expect(world.deletedAt("pod-a-0")).toBeLessThan(dueMs + PROMPT_MS);
  });
});

describe("no pod is deleted where", () => {
  test("the control plane returns 2 min before workers", () => {
    const { world, names } = fixture(20, 5);
    const planes = names.slice(17);
    world.silence(names);
    world.crash(12 * 3600 * S);
    for (const name of planes) world.kubelet(name).resume();
    world.advance(120 * S);
    world.revive(names);
    world.advance(900 * S);
    expect(world.deleted).toEqual([]);
  });

  test("Vigil starts with the API server", () => {
    const { world, names } = fixture(20, 3);
    world.silence(names);
    world.crash(600 * S);
    world.advance(8 * S);
    world.revive(names);
    world.advance(900 * S);
    expect(world.deleted).toEqual([]);
  });

  test("Vigil starts a minute after the first workers", () => {
    const { world, names, ill } = fixture(20, 3);
    world.silence(names);
    world.crash(60 * S, () => {
      world.advance(600 * S);
      for (const name of names.slice(10)) world.kubelet(name).resume();
    });
    world.advance(120 * S);
    world.revive(ill);
    world.advance(900 * S);
    expect(world.deleted).toEqual([]);
  });
});

describe("a crash of Vigil alone", () => {
  test.each([
    [3, 3],
    [3, 60],
    [20, 3],
    [20, 60],
  ])("of %d nodes, for %d s, moves no countdown", (size, downS) => {
    const { world } = fixture(size, 1);
    world.advance(60 * S);
    world.crash(downS * S);
    world.advance(600 * S);
    const dueMs = (world.taintedAt("a-0") ?? 0) + TOLERATED_MS;
    expect(world.deletedAt("pod-a-0")).toBeGreaterThanOrEqual(dueMs - S);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(dueMs + PROMPT_MS);
  });

  test("beyond the kept history makes evictions late", () => {
    const { world } = fixture(20, 1);
    world.crash(600 * S, () => {
      world.advance(400 * S);
      world.api.faults.compact();
    });
    world.advance(900 * S);
    const dueMs = (world.taintedAt("a-0") ?? 0) + TOLERATED_MS;
    expect(world.deletedAt("pod-a-0")).toBeGreaterThan(dueMs);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(dueMs + 1000 * S + PROMPT_MS);
  });

  test("that ends after a deadline evicts at once", () => {
    const { world } = fixture(20, 1);
    world.advance(200 * S);
    world.crash(60 * S);
    const startedMs = world.clock.monotonicMs();
    world.advance(60 * S);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(startedMs + PROMPT_MS);
  });
});

test("a record of heard nodes that may not be written is warned about", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 }, []);
  world.addZone("a", 3);
  const isRecord = ({ name }: Call): boolean => name === HEARTBEATS_LEASE.name;
  world.api.faults.add({ fault: { kind: "status", code: 403 }, when: isRecord });
  world.run();
  world.advance(60 * S);
  const lines = world.logged().map(({ message }) => message);
  expect(lines.filter((line) => line.startsWith("the memory of outages cannot be written"))).toHaveLength(1);
});

test("how long nodes were heard is recorded before any countdown runs", () => {
  const world = new EvictionWorld({ nodeEvictionsPerSecond: 1 }, []);
  world.addZone("a", 3);
  world.run();
  world.advance(60 * S);
  const lease = world.api.store.collection("leases").get(HEARTBEATS_LEASE.namespace, HEARTBEATS_LEASE.name);
  const { renewTime } = recordOf(lease?.object().spec);
  expect(epochMsOf(textOf(renewTime))).toBeGreaterThan(world.clock.wallMs() - PROMPT_MS);
});

describe("the memory of outages", () => {
  test("is kept by the next process", () => {
    const { world, names } = fixture(20, 1);
    outage(world, names, 600 * S, names.slice(1));
    world.crash(5 * S);
    world.advance(900 * S);
    const dueMs = (world.taintedAt("a-0") ?? 0) + TOLERATED_MS + 600 * S;
    expect(world.deletedAt("pod-a-0")).toBeGreaterThanOrEqual(dueMs - S);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(dueMs + PROMPT_MS);
  });

  test("that cannot be read starts each countdown again, once", () => {
    const { world } = fixture(20, 1);
    const body = { ...configMap, data: { outages: "[{" } };
    world.write({ verb: "create", ref: FREEZE_CONFIG_MAP, urgency: 0, body });
    world.advance(10 * S);
    const readMs = world.clock.monotonicMs();
    world.advance(250 * S);
    world.crash(5 * S);
    world.advance(600 * S);
    expect(world.deletedAt("pod-a-0")).toBeGreaterThanOrEqual(readMs + TOLERATED_MS - PROMPT_MS);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(readMs + TOLERATED_MS + PROMPT_MS);
  });

  test("that cannot be written starts each countdown again", () => {
    const { world, names } = fixture(20, 1);
    const isMemory = ({ resource, verb }: Call): boolean =>
      resource.plural === "configmaps" && verb !== "list" && verb !== "watch";
    world.api.faults.add({ fault: { kind: "status", code: 403 }, when: isMemory });
    outage(world, names, 600 * S, names.slice(1));
    const endMs = world.clock.monotonicMs() - 9 * S;
    world.advance(900 * S);
    expect(world.deletedAt("pod-a-0")).toBeGreaterThanOrEqual(endMs + TOLERATED_MS - S);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(endMs + TOLERATED_MS + PROMPT_MS);
    const lines = world.logged().map(({ message }) => message);
    expect(lines.filter((line) => line.startsWith("the memory of outages cannot be written"))).toHaveLength(1);
  });

  test("that a person writes keeps the rest of a countdown", () => {
    const { world, names } = fixture(20, 1);
    const isOurs = ({ resource, verb }: Call): boolean =>
      resource.plural === "configmaps" && (verb === "create" || verb === "patch");
    const grant = world.api.faults.add({ fault: { kind: "status", code: 403 }, when: isOurs });
    outage(world, names, 600 * S, names.slice(1));
    world.advance(30 * S);
    const named = world.logged().filter(({ message }) => message.startsWith("the memory of outages may not be"));
    expect(named).toHaveLength(1);
    const command = String(named[0]?.fields?.command);
    expect(command).toMatch(/^kubectl patch configmap vigil-freeze -n kube-system --type=merge -p '/);
    const { data } = JSON.parse(command.slice(command.indexOf("'") + 1, -1)) as { data: Record<string, string> };
    grant();
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
    world.write({ verb: "create", ref: FREEZE_CONFIG_MAP, urgency: Urgency.healing, body });
    world.api.faults.add({ fault: { kind: "status", code: 403 }, when: isOurs });
    world.advance(900 * S);
    const dueMs = (world.taintedAt("a-0") ?? 0) + TOLERATED_MS + 600 * S;
    expect(world.deletedAt("pod-a-0")).toBeGreaterThanOrEqual(dueMs - S);
    expect(world.deletedAt("pod-a-0")).toBeLessThan(dueMs + PROMPT_MS);
  });
});

test("no pod of a healed node goes when a backup is restored under Vigil", () => {
  const { world, names } = fixture(20, 1);
  const backup = world.api.snapshot();
  world.revive(names.slice(0, 1));
  world.advance(3600 * S);
  world.silence(names);
  world.api.restore(backup, { watches: "cut" });
  world.advance(8 * S);
  world.revive(names);
  world.advance(900 * S);
  expect(world.deleted.filter(({ name: pod }) => pod === "pod-a-0")).toEqual([]);
  expect(world.taints("a-0")).toEqual([]);
});
