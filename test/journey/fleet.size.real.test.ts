/** The same scenario on one process and on a fleet of five, each with its own real API server: both end the same. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithKube } from "../support/kube-assets.ts";
import { type Seen, seeNodes, seePods } from "../support/kube-probe.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { type NatsServer, startNatsServer } from "../support/nats-server.ts";
import { Stage, type StartActor } from "../support/stage.ts";
import { until } from "../support/until.ts";
import { VigilProcess } from "../support/vigil-process.ts";

const FLAGS = ["--node-monitor-grace-period=8s", "--node-eviction-rate=2"];
const ZONES = {
  "a-0": "a",
  "a-1": "a",
  "a-2": "a",
  "b-0": "b",
  "b-1": "b",
  "b-2": "b",
  "b-3": "b",
  "c-0": "c",
  "c-1": "c",
};
const BOTH = [
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
];
const tolerating = (tolerationSeconds: number) => BOTH.map((toleration) => ({ ...toleration, tolerationSeconds }));
const PODS = [
  { name: "a-0-leaves", node: "a-0", tolerations: tolerating(2) },
  { name: "a-1-stays", node: "a-1", tolerations: BOTH },
  { name: "a-2-was-in-time", node: "a-2", tolerations: tolerating(60) },
  { name: "b-0-leaves", node: "b-0", tolerations: tolerating(1) },
  { name: "b-1-is-finalised", node: "b-1", tolerations: tolerating(1) },
  { name: "c-0-stays", node: "c-0", tolerations: tolerating(1) },
];
const UNREACHABLE = "unreachable:NoExecute unreachable:NoSchedule";
/** The end state of the scenario. */
const END = [
  `a-0 Unknown ${UNREACHABLE}`,
  `a-1 Unknown ${UNREACHABLE}`,
  "a-2 True ",
  `b-0 Unknown ${UNREACHABLE}`,
  "b-1 False not-ready:NoExecute not-ready:NoSchedule",
  "b-2 True unschedulable:NoSchedule",
  "b-3 True memory-pressure:NoSchedule",
  "c-0 True ",
  "c-1 True ",
  "default/a-0-leaves leaves",
  "default/a-1-stays",
  "default/a-2-was-in-time",
  "default/b-0-leaves leaves",
  "default/c-0-stays",
];
const WITHIN = { withinMs: 45_000, everyMs: 50 };
const STORY_MS = 150_000;

/** What the API shows, as text that does not depend on the time. */
function stateOf(nodes: Seen<"nodes">, pods: Seen<"pods">): string[] {
  const nodeLines = [...nodes.present.values()].map(({ node, conditions, taints }) => {
    const ready = conditions.find(({ type }) => type === "Ready")?.status;
    const carried = taints.map(({ key, effect }) => `${key.replace("node.kubernetes.io/", "")}:${effect}`);
    return `${node} ${ready} ${carried.toSorted().join(" ")}`;
  });
  const podLines = [...pods.present].map(([name, { pod }]) => (pod.deletionAt === null ? name : `${name} leaves`));
  return [...nodeLines.toSorted(), ...podLines.toSorted()];
}

/** Plays the scenario; ends as soon as the end state is there, and otherwise fails with the present state. */
async function play(start: StartActor): Promise<void> {
  const stage = await Stage.open(start);
  try {
    stage.register(ZONES);
    const [nodes, pods] = [seeNodes(stage.kube), seePods(stage.kube)];
    const lines = () => stateOf(nodes, pods);
    await stage.restart();
    const areWell = () => lines().filter((line) => line.endsWith(" True ")).length === Object.keys(ZONES).length;
    await until("every node is well", areWell, WITHIN);
    await stage.create(PODS);
    stage.silence("a-0", "a-1", "a-2", "b-0");
    stage.report("b-1", "Ready", "False");
    stage.report("b-3", "MemoryPressure", "True");
    await stage.specify("b-2", { unschedulable: true });
    await until("a-2 is tainted", () => lines().includes(`a-2 Unknown ${UNREACHABLE}`), WITHIN);
    stage.resume("a-2");
    const hasEnded = () => JSON.stringify(lines()) === JSON.stringify(END);
    await until("the story ends", hasEnded, WITHIN).catch(() => expect(lines(), stage.log()).toEqual(END));
    nodes.watch.stop();
    pods.watch.stop();
  } finally {
    await stage.close();
  }
}

describeWithKube("one scenario on a real API server ends the same", () => {
  describeWithNats("whatever the size of the fleet", () => {
    let nats: NatsServer;
    beforeAll(async () => {
      nats = await startNatsServer();
    });
    afterAll(() => nats.stop());

    /** Starts this many processes; a single one has no NATS. */
    const fleetOf =
      (size: number): StartActor =>
      async (kubeconfig) => {
        const own = [`--kubeconfig=${kubeconfig}`, "--log-format=json", ...FLAGS];
        const members = Array.from({ length: size }, (_, index) => {
          const shared = size === 1 ? [] : [`--nats=${nats.url}`, `--member=m-${index}`];
          return new VigilProcess(["run", ...own, ...shared]);
        });
        await Promise.all(members.map((member) => member.untilLogged("running")));
        return {
          kill: async () => {
            for (const member of members) member.signal("SIGKILL");
            await Promise.all(members.map((member) => member.exited()));
          },
          log: () => members.map(({ err }) => err).join(""),
        };
      };

    test.for([1, 5])("of %i", { timeout: STORY_MS }, (size) => play(fleetOf(size)));
  });
});
