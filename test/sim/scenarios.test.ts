/** Outages that clusters went through, played again: what they were spared, or must bear by rule. */
import { describe, expect, it } from "vitest";
import { isObject } from "../../services/apiserver/objects.ts";
import { play, type Stage } from "./scenario.ts";

const NODE_UNKNOWN = "node made Unknown";
const TAINTED = "NoExecute taint put on";
const EVICTED = "pod evicted";

describe("known outages", () => {
  it("an API server that comes back after ten minutes finds no node Unknown and no pod evicted (24200)", () => {
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

  it("kubelets that all lose their way to a healthy API server halt every zone, so nobody is evicted (77864)", () => {
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

  it("pods become unready on silent nodes alone, and none is evicted when the nodes are soon back (105617)", () => {
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

  it("a lease watch that is stale for ten minutes makes no node Unknown that renews (85221)", () => {
    const { problem, sometimes } = play({
      zones: [20],
      seconds: 600,
      script: ({ reach }) => reach.world.api.faults.silenceWatches("leases"),
    });
    expect(problem).toBeNull();
    expect(sometimes[NODE_UNKNOWN] ?? 0).toBe(0);
  });

  it("a hiccup of 45 s under a grace of 40 s makes nobody Unknown (121793)", () => {
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

  it("a NoExecute taint of 100 ms on all nodes evicts nobody after it went, nor who tolerates it (cilium 19890)", () => {
    let goneMs = 0;
    let tolerant = new Set<string>();
    const { problem, sometimes, steps } = play({
      zones: [20],
      seconds: 120,
      script: (stage) => {
        tolerant = tolerantPods(stage);
        taintAll(stage, true);
        stage.at(0.1, () => {
          taintAll(stage, false);
          goneMs = stage.reach.world.clock.monotonicMs();
        });
        return undefined;
      },
    });
    expect(problem).toBeNull();
    expect(tolerant.size).toBeGreaterThan(0);
    const evictions = steps.filter(({ what }) => what.startsWith("MODIFIED pod"));
    // The taint's pace is nobody's: whoever tolerates it not goes at once, by rule, but not a moment longer (R8.6).
    expect(sometimes[EVICTED]).toBeLessThanOrEqual(40 - tolerant.size);
    for (const { atMs, what } of evictions) {
      expect(atMs).toBeLessThan(goneMs + 50);
      expect(tolerant).not.toContain(what.split("/")[1]);
    }
  });

  // Nodes fall Unknown one by one, so a stopped zone was paced before, and is again once the first is back.
  it.each([
    { share: "50 %", dead: 10, of: 20, tainted: [10, 10] },
    { share: "55 %", dead: 11, of: 20, tainted: [0, 3] },
    { share: "60 % of a large zone", dead: 36, of: 60, tainted: [1, 10] },
  ])("$share of a zone dead for ten minutes are tainted by the zone's rules (2023-03)", ({ dead, of, tainted }) => {
    const { problem, sometimes } = play({
      zones: [of, 3],
      seconds: 600,
      script: (stage) => {
        stage.silence(stage.kubelets(1).slice(0, dead), 599);
        return undefined;
      },
    });
    expect(problem).toBeNull();
    expect(sometimes[NODE_UNKNOWN]).toBe(dead);
    expect(sometimes[TAINTED] ?? 0).toBeGreaterThanOrEqual(tainted[0] ?? 0);
    expect(sometimes[TAINTED] ?? 0).toBeLessThanOrEqual(tainted[1] ?? 0);
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

function tolerantPods({ reach }: Stage): Set<string> {
  const isTolerant = ({ spec }: BoundPod): boolean =>
    spec.tolerations?.some(({ key }) => key === undefined || key === AGENT_NOT_READY.key) === true;
  return new Set(
    reach.world
      .objects<BoundPod>("pods")
      .filter(isTolerant)
      .map(({ metadata }) => metadata.name),
  );
}

function taintAll({ reach: { world } }: Stage, tainted: boolean): void {
  for (const { name } of world.kubelets.values()) {
    world.edit("nodes", name, (node) => {
      const spec = isObject(node.spec) ? node.spec : {};
      return { ...node, spec: { ...spec, taints: tainted ? [AGENT_NOT_READY] : [] } };
    });
  }
}
