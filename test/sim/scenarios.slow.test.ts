/** Known outages of real clusters, replayed: what Vigil avoids, and what it must do by rule. */
import { describe, expect, it } from "vitest";
import { isObject } from "../../services/sandbox/apiserver/api-objects.ts";
import { type CheckedNode, isPaced } from "./invariants.ts";
import { play, type Stage } from "./scenario.ts";

const NODE_UNKNOWN = "node made Unknown";
const TAINTED = "NoExecute taint put on";
const EVICTED = "pod evicted";

describe("known outages", () => {
  it("an API server back after 10 min finds no Unknown node (24200)", () => {
    const { problem, sometimes } = play({
      zones: [6, 6],
      seconds: 700,
      script: (stage) => {
        const mend = stage.reach.world.api.faults.refuse();
        stage.silence(stage.kubelets(), 600);
        stage.at(600, mend);
        return undefined;
      },
    });
    expect(problem).toBeNull();
    expect(sometimes[NODE_UNKNOWN] ?? 0).toBe(0);
    expect(sometimes[EVICTED] ?? 0).toBe(0);
  });

  it("kubelets that all lose a healthy API halt every zone (77864)", () => {
    const { problem, sometimes } = play({
      zones: [6, 6],
      seconds: 700,
      script: (stage) => {
        stage.silence(stage.kubelets(), 600);
        return undefined;
      },
    });
    expect(problem).toBeNull();
    expect(sometimes[NODE_UNKNOWN]).toBe(12);
    expect(sometimes["full disruption entered"]).toBe(1);
    expect(sometimes["full disruption left"]).toBe(1);
    expect(sometimes[EVICTED] ?? 0).toBe(0);
  });

  it("only silent nodes' pods get unready; none is evicted (105617)", () => {
    const silent: string[] = [];
    let nodeOf = new Map<string, string>();
    const { problem, sometimes, steps } = play({
      zones: [6, 6],
      seconds: 120,
      script: (stage) => {
        nodeOf = nodesOfPods(stage);
        stage.silence(stage.kubelets(1), 52);
        silent.push(...stage.kubelets(1).map(({ name }) => name));
        return undefined;
      },
    });
    expect(problem).toBeNull();
    const written = steps.flatMap(({ what }) => /pod default\/(\S+)$/.exec(what)?.[1] ?? []);
    expect(written.length).toBeGreaterThan(0);
    for (const pod of written) expect(silent).toContain(nodeOf.get(pod));
    expect(sometimes[EVICTED] ?? 0).toBe(0);
  });

  it("a lease watch stale for 10 min makes no node Unknown (85221)", () => {
    const { problem, sometimes } = play({
      zones: [20],
      seconds: 600,
      script: ({ reach }) => reach.world.api.faults.silenceWatches("leases"),
    });
    expect(problem).toBeNull();
    expect(sometimes[NODE_UNKNOWN] ?? 0).toBe(0);
  });

  it("a hiccup over the grace makes no node Unknown (121793)", () => {
    const { problem, sometimes } = play({
      zones: [6, 6],
      profile: { nodeMonitorGraceMs: 40_000 },
      seconds: 120,
      script: (stage) => {
        const mend = stage.reach.world.api.faults.refuse();
        stage.silence(stage.kubelets(), 45);
        stage.at(45, mend);
        return undefined;
      },
    });
    expect(problem).toBeNull();
    expect(sometimes[NODE_UNKNOWN] ?? 0).toBe(0);
  });

  // Before a delete the writer reads node and pod again. By then the taint is mostly gone, so the pods stay. The
  // deleted ones were read while the taint was there. No rate limits a foreign taint (R8.6).
  it("a taint of 100 ms on all nodes evicts almost no pod (cilium 19890)", () => {
    let intolerant = 0;
    const { problem, sometimes } = play({
      zones: [60],
      seconds: 120,
      latencyMaxMs: 100,
      script: (stage) => {
        intolerant = stage.reach.world.objects<BoundPod>("pods").filter((pod) => !isTolerant(pod)).length;
        taintAll(stage, true);
        stage.at(0.1, () => taintAll(stage, false));
        return undefined;
      },
    });
    expect(problem).toBeNull();
    expect(intolerant).toBeGreaterThan(60);
    expect(sometimes[EVICTED] ?? 0).toBeLessThan(intolerant / 10);
    expect((sometimes[EVICTED] ?? 0) + (sometimes["stale ask refused"] ?? 0)).toBe(intolerant);
  });

  // Nodes fall silent within ten seconds, so the zone still has a rate when the first is tainted. From the eleventh on
  // it is stopped (R6.5). As soon as one is back it has a rate again, and two more are granted before they are back
  // too.
  it.each([
    { share: "50 %", dead: 10, of: 20, begun: 2, tainted: 10, inAll: 10 },
    { share: "55 %", dead: 11, of: 20, begun: 1, tainted: 1, inAll: 3 },
    { share: "60 %", dead: 36, of: 60, begun: 1, tainted: 6, inAll: 8 },
  ])("$share of $of nodes dead for 10 min get $tainted grants (2023-03)", (band) => {
    const counted: number[] = [];
    const { problem, sometimes } = play({
      zones: [band.of, 3],
      seconds: 640,
      script: (stage) => {
        stage.silence(stage.kubelets(1).slice(0, band.dead), 599);
        for (const seconds of [55, 598]) stage.at(seconds, () => counted.push(taintedNodes(stage)));
        return undefined;
      },
    });
    expect(problem).toBeNull();
    expect(sometimes[NODE_UNKNOWN]).toBe(band.dead);
    expect(counted).toEqual([band.begun, band.tainted]);
    expect(sometimes[TAINTED]).toBe(band.inAll);
    expect(sometimes["NoExecute taint taken off"]).toBe(band.inAll);
  });
});

interface BoundPod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly nodeName: string; readonly tolerations?: readonly { key?: string }[] };
}

function nodesOfPods({ reach }: Stage): Map<string, string> {
  return new Map(reach.world.objects<BoundPod>("pods").map(({ metadata, spec }) => [metadata.name, spec.nodeName]));
}

const AGENT_NOT_READY = { key: "example.com/maintenance", value: "yes", effect: "NoExecute" };

function isTolerant({ spec }: BoundPod): boolean {
  return spec.tolerations?.some(({ key }) => key === undefined || key === AGENT_NOT_READY.key) === true;
}

function taintedNodes({ reach }: Stage): number {
  return reach.world.objects<CheckedNode>("nodes").filter(({ spec }) => spec?.taints?.some(isPaced)).length;
}

function taintAll({ reach: { world } }: Stage, tainted: boolean): void {
  for (const { name } of world.kubelets.values()) {
    world.edit("nodes", name, (node) => {
      const spec = isObject(node.spec) ? node.spec : {};
      return { ...node, spec: { ...spec, taints: tainted ? [AGENT_NOT_READY] : [] } };
    });
  }
}
