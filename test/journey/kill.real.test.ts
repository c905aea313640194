/** `vigil run` killed with SIGKILL in the middle of its work on a real kube-apiserver, and restarted. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Taint } from "../../protocols/objects.ts";
import type { Watch } from "../../protocols/ports.ts";
import { epochMsOf } from "../../services/domain/api-time.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { type Seen, seeNodes } from "../support/kube-probe.ts";
import { Stage, vigilWith } from "../support/stage.ts";
import { until } from "../support/until.ts";

/** One taint per 5 s: longer than a start, so a rate limiter that restarted full would be visible. */
const TAINTS_PER_SECOND = 0.2;
const TOLERATED_SECONDS = 15;
/** How late a pod may go after its deadline or after the restart of Vigil. */
const LATE_SECONDS_MAX = 5;
const UNREACHABLE = "node.kubernetes.io/unreachable";
const FLAGS: Readonly<Record<string, string>> = {
  "node-monitor-grace-period": "8s",
  "node-eviction-rate": String(TAINTS_PER_SECOND),
};
const WITHIN = { withinMs: 60_000, everyMs: 20 };

vi.setConfig({ testTimeout: 180_000 });

let stage: Stage;
let nodes: Seen<"nodes">;
let watch: Watch;
/** When each pod was first observed terminating, by name and uid, in wall milliseconds. */
const leftAt = new Map<string, Map<string, number>>();
/** The uids of all remaining pods, by name. */
const staying = new Map<string, string>();

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
const inZone = (zone: string, names: readonly string[]) => Object.fromEntries(names.map((name) => [name, zone]));

/** A node's NoExecute taint with this key. */
function taintOf(node: string, key = UNREACHABLE): Taint | undefined {
  return nodes.present.get(node)?.taints.find((taint) => taint.key === key && taint.effect === "NoExecute");
}

/** Whether nodes are ready and have no taint. */
function areWell(names: readonly string[]): boolean {
  return names.every((name) => {
    const node = nodes.present.get(name);
    return (
      node?.taints.length === 0 && node.conditions.some(({ type, status }) => type === "Ready" && status === "True")
    );
  });
}

/** Instants at which our taint was added to nodes, in epoch seconds, in order. */
function stampsOf(names: readonly string[]): number[] {
  return names
    .map((name) => (epochMsOf(taintOf(name)?.timeAdded ?? null) ?? Number.NaN) / 1000)
    .toSorted((left, right) => left - right);
}

function left(name: string, uid: string): void {
  staying.delete(name);
  const times = leftAt.get(name) ?? new Map<string, number>();
  if (!times.has(uid)) leftAt.set(name, times.set(uid, Date.now()));
}

/** How many Events report the deletion of each pod, by pod name. */
async function reportedDeletions(): Promise<Map<string, number>> {
  interface ApiEvent {
    readonly message: string;
    readonly count: number;
    readonly involvedObject: { readonly name: string };
  }
  const { items } = (await stage.kubectl("get", "events", "--field-selector=reason=TaintManagerEviction")) as {
    items: ApiEvent[];
  };
  const reported = items.filter(({ message }) => message.startsWith("Marking for deletion"));
  return new Map(reported.map(({ involvedObject, count }) => [involvedObject.name, count]));
}

describeWithKube("vigil run, killed in the middle", () => {
  beforeAll(async () => {
    stage = await Stage.open(vigilWith(FLAGS));
    nodes = seeNodes(stage.kube);
    watch = stage.kube.watch("pods", {
      changed: ({ pod }) => {
        if (pod.deletionAt === null) staying.set(pod.name, pod.uid);
        else left(pod.name, pod.uid);
      },
      gone: (key) => {
        const name = key.split("/").at(-1) ?? key;
        const uid = staying.get(name);
        if (uid !== undefined) left(name, uid);
      },
      state: () => undefined,
    });
    await stage.restart();
  });
  afterAll(async () => {
    watch?.stop();
    nodes?.watch.stop();
    await stage?.close();
  });

  test("of a countdown does not change when the pod is deleted (R8.20, L3)", async () => {
    const zone = ["silent", "steady-0", "steady-1"];
    stage.register(inZone("a", zone));
    const tolerations = [
      { key: UNREACHABLE, operator: "Exists", effect: "NoExecute", tolerationSeconds: TOLERATED_SECONDS },
    ];
    await stage.create([{ name: "patient", node: "silent", tolerations }]);
    await until("the nodes are well", () => areWell(zone), WITHIN);
    stage.silence("silent");
    await until("the node is tainted", () => taintOf("silent") !== undefined, WITHIN);
    await pause(4_000);
    await stage.kill();
    await pause(3_000);
    await stage.restart();
    const restartedAt = Date.now() / 1000;
    await until("the pod is deleted", () => leftAt.has("patient"), WITHIN);
    const [taintedAt = Number.NaN] = stampsOf(["silent"]);
    const [deletedAt = Number.NaN] = leftAt.get("patient")?.values() ?? [];
    const dueAt = taintedAt + TOLERATED_SECONDS;
    expect(deletedAt / 1000).toBeGreaterThanOrEqual(dueAt);
    expect(deletedAt / 1000).toBeLessThanOrEqual(Math.max(dueAt, restartedAt) + LATE_SECONDS_MAX);
  });

  test("of tainting a zone keeps the eviction rate, and taints every dead node (P5)", async () => {
    const zone = named("paced", 14);
    const dead = zone.slice(0, 6);
    const tainted = () => dead.filter((name) => taintOf(name) !== undefined);
    stage.register(inZone("b", zone));
    await until("the nodes are well", () => areWell(zone), WITHIN);
    stage.silence(...dead);
    await until("some nodes are tainted", () => tainted().length >= 2, WITHIN);
    await stage.kill();
    expect(tainted().length).toBeLessThan(dead.length);
    await stage.restart();
    await until("all dead nodes are tainted", () => tainted().length === dead.length, WITHIN);
    const stamps = stampsOf(dead);
    const tooFast = stamps.flatMap((first, from) =>
      stamps.slice(from + 1).filter((last, more) => {
        const windowSeconds = last - first + 1; // Stamps are cut to whole seconds.
        return more + 2 > 1 + TAINTS_PER_SECOND * windowSeconds;
      }),
    );
    expect(tooFast, stamps.join()).toEqual([]);
    expect(zone.slice(6).filter((name) => taintOf(name) !== undefined)).toEqual([]);
  });

  test.each([
    ["of evicting 50 nodes", "maintained", true],
    ["not at all while it evicts 50 nodes", "emptied", false],
  ])("%s deletes every intolerant pod once, and no other (P7, P8)", async (_when, prefix, isKilled) => {
    const key = "maintenance";
    const zone = named(prefix, 50);
    const [first, second] = [zone.slice(0, 25), zone.slice(25)];
    const intolerant = zone.flatMap((node) => named(`${node}-intolerant`, 2));
    const tolerant = zone.flatMap((node) => [`${node}-for-ever`, `${node}-patient`]);
    const taint = (names: readonly string[]) =>
      Promise.all(names.map((name) => stage.specify(name, { taints: [{ key, effect: "NoExecute" }] })));
    stage.register(inZone(prefix, zone));
    await until("the nodes are well", () => areWell(zone), WITHIN);
    await stage.create(
      zone.flatMap((node) => [
        ...named(`${node}-intolerant`, 2).map((name) => ({ name, node, tolerations: [] })),
        { name: `${node}-for-ever`, node, tolerations: [{ key, operator: "Exists" }] },
        {
          name: `${node}-patient`,
          node,
          tolerations: [{ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 600 }],
        },
      ]),
    );
    const gone = () => intolerant.filter((name) => leftAt.has(name));
    const firstTainted = taint(first);
    await until("pods are being deleted", () => gone().length > 0, WITHIN);
    if (isKilled) await stage.kill();
    await firstTainted;
    await taint(second);
    if (isKilled) {
      expect(gone().length).toBeLessThan(intolerant.length);
      await stage.restart();
    }
    await until("every intolerant pod is deleted", () => gone().length === intolerant.length, WITHIN);
    await pause(2_000);
    expect(intolerant.filter((name) => leftAt.get(name)?.size !== 1)).toEqual([]);
    expect(tolerant.filter((name) => leftAt.has(name) || !staying.has(name))).toEqual([]);
    const reported = await reportedDeletions();
    expect([...reported].filter(([name, count]) => name.startsWith(prefix) && count > 1)).toEqual([]);
    expect(tolerant.filter((name) => reported.has(name))).toEqual([]);
  });
});
