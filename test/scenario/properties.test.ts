/** Properties on virtual time: nodes come, go, return under their name, fall silent and recover. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { startLedger } from "../../services/ledger/ledger.service.ts";
import { EVICTING } from "../support/eviction-world.ts";
import { metricValue } from "../support/metric-value.ts";
import type { TestKubelet } from "../support/test-kubelet.ts";
import { VirtualCluster, type VirtualProcess } from "../support/virtual-cluster.ts";

const S = 1000;
const NAMES = ["n-0", "n-1", "n-2", "n-3"];
const ZONES = ["a", "b"];
const RUNS = { numRuns: 12 };

/** An event of one node, and the pause after it. */
const happening = fc.record({
  name: fc.constantFrom(...NAMES),
  what: fc.constantFrom("come", "come", "go", "silence", "speak", "notReady", "ready"),
  seconds: fc.integer({ min: 0, max: 40 }),
});
type Happening = { readonly name: string; readonly what: string; readonly seconds: number };

/** A cluster that plays the events. */
class Eventful {
  readonly cluster: VirtualCluster;
  readonly process: VirtualProcess;
  readonly #kubelets = new Map<string, TestKubelet>();

  constructor(evictionMode: string) {
    const profile = { evictionMode, pulsePeriodMs: 5 * S, pulseTimeoutMs: 16 * S, podEvictionTimeoutMs: 30 * S };
    this.cluster = new VirtualCluster({ profile });
    const ledger = (io: Parameters<typeof startLedger>[0]) => startLedger(io).stop;
    this.process = this.cluster.start({ ...EVICTING, ledger });
    this.cluster.advance(S);
  }

  undergo(happenings: readonly Happening[]): void {
    for (const { name, what, seconds } of happenings) {
      this.#happen(name, what);
      this.cluster.advance(seconds * S);
    }
    this.cluster.advance(10 * S);
  }

  get names(): string[] {
    return [...this.#kubelets.keys()];
  }

  #happen(name: string, what: string): void {
    const kubelet = this.#kubelets.get(name);
    if (kubelet === undefined) {
      if (what === "come") this.#kubelets.set(name, this.#register(name));
      return;
    }
    if (what === "go") this.#remove(name, kubelet);
    else if (what === "silence") kubelet.stop();
    else if (what === "speak") kubelet.resume();
    else if (what === "notReady") kubelet.report("Ready", "False");
    else if (what === "ready") kubelet.report("Ready", "True");
  }

  #register(name: string): TestKubelet {
    const zone = ZONES[NAMES.indexOf(name) % ZONES.length] ?? "";
    const labels = { "topology.kubernetes.io/zone": zone };
    return this.cluster.addNode({ name, labels });
  }

  #remove(name: string, kubelet: TestKubelet): void {
    kubelet.stop();
    this.cluster.write({ verb: "delete", ref: { kind: "Node", namespace: "", name }, urgency: 0 });
    this.#kubelets.delete(name);
  }
}

const after = (happenings: readonly Happening[], evictionMode = "taint"): Eventful => {
  const eventful = new Eventful(evictionMode);
  eventful.undergo(happenings);
  return eventful;
};

test("every node is judged under its present uid (P12)", () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 12 }), (happenings) => {
      const { cluster, names } = after(happenings);
      const judged = new Map(cluster.published("judged.node").map(({ body }) => [body.node, body.uid]));
      expect(names.map((name) => judged.get(name))).toEqual(names.map((name) => cluster.node(name).metadata.uid));
    }),
    RUNS,
  );
});

test("a zone's health is the percentage of its nodes that are not unhealthy (P13)", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 12 }), async (happenings) => {
      const { process, names } = after(happenings);
      let nodes = 0;
      for (const name of ZONES) {
        const gauge = (what: string) => metricValue(process.metrics, `node_collector_${what}`, { zone: name });
        const [size, unhealthy] = [await gauge("zone_size"), await gauge("unhealthy_nodes_in_zone")];
        if (size > 0) expect(await gauge("zone_health")).toBeCloseTo(100 * (1 - unhealthy / size), 6);
        nodes += size;
      }
      expect(nodes).toBe(names.length);
    }),
    RUNS,
  );
});

test("direct mode never requests a NoExecute taint (P14)", () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 12 }), (happenings) => {
      const name = "n-0";
      const falls = [
        { name, what: "come", seconds: 5 },
        { name, what: "silence", seconds: 100 },
      ];
      const { cluster } = after([...happenings, ...falls], "direct");
      const asked = cluster.published("asked.taint").flatMap(({ body }) => body.add);
      expect(new Set(asked.map(({ effect }) => effect))).toEqual(new Set(["NoSchedule"]));
    }),
    RUNS,
  );
});

interface NodeEvent {
  readonly reason: string;
  readonly involvedObject: { readonly name: string };
  readonly metadata: { readonly resourceVersion: string };
}

test("RegisteredNode and RemovingNode alternate for each name; the last is true (P15)", () => {
  fc.assert(
    fc.property(fc.array(happening, { maxLength: 16 }), (happenings) => {
      const { cluster, names } = after(happenings);
      const stored = cluster.api.store.collection("events").sorted("");
      const events = stored
        .map(({ json }) => JSON.parse(json) as NodeEvent)
        .sort((left, right) => Number(left.metadata.resourceVersion) - Number(right.metadata.resourceVersion));
      for (const name of NAMES) {
        const reasons = events
          .filter(({ reason, involvedObject }) => involvedObject.name === name && /^(Registered|Removing)/.test(reason))
          .map(({ reason }) => reason);
        expect(reasons).toEqual(reasons.map((_, index) => (index % 2 === 0 ? "RegisteredNode" : "RemovingNode")));
        expect(reasons.length % 2).toBe(names.includes(name) ? 1 : 0);
      }
    }),
    RUNS,
  );
});
