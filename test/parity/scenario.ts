/**
 * The scenario that both controllers run through: what happens to six nodes, and what the API must show after each
 * step.
 */
import type { StagePod } from "../support/stage.ts";
import type { SideBySideRecorder } from "./side-by-side.recorder.ts";
import type { Timeline } from "./timeline.ts";

/** The nodes by zone. */
const ZONES: Readonly<Record<string, string>> = {
  "away-for-a-while": "a",
  "away-for-good": "a",
  "said-to-be-ill": "a",
  "steady-in-a": "a",
  cordoned: "b",
  "under-pressure": "b",
};
const NODES = Object.keys(ZONES);

const tolerated = (tolerationSeconds: number): readonly object[] =>
  ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds,
  }));

/** Seconds that a pod of the dead node tolerates. */
export const TOLERATED_SECONDS = 5;
const PODS: readonly StagePod[] = [
  { name: "spared", node: "away-for-a-while", tolerations: [] },
  { name: "patient", node: "away-for-good", tolerations: [] },
  { name: "for-ever", node: "away-for-good", tolerations: [{ operator: "Exists", effect: "NoExecute" }] },
  { name: "for-five-seconds", node: "away-for-good", tolerations: tolerated(TOLERATED_SECONDS) },
  { name: "at-once", node: "away-for-good", tolerations: tolerated(0) },
  { name: "of-an-ill-node", node: "said-to-be-ill", tolerations: [] },
  { name: "in-peace", node: "under-pressure", tolerations: [] },
];

const TAINTS = ["not-ready", "unreachable", "memory-pressure", "unschedulable"].flatMap((key) => [
  `${key}:NoSchedule`,
  `${key}:NoExecute`,
]);

/** Whether a node has this Ready condition and exactly these taints. */
function shows(timeline: Timeline, node: string, ready: string, ...taints: readonly string[]): boolean {
  const title = `Node ${node}`;
  const has = TAINTS.filter((taint) => timeline.shown(title, taint) !== null);
  const isReady = timeline.shown(title, "Ready")?.startsWith(ready) === true;
  return isReady && has.toSorted().join() === taints.toSorted().join();
}

const isWell = (node: string) => (timeline: Timeline) => shows(timeline, node, "True");
const isUnreachable = (node: string) => (timeline: Timeline) =>
  shows(timeline, node, "Unknown", "unreachable:NoSchedule", "unreachable:NoExecute");
const areRegistered = (timeline: Timeline) => timeline.eventTexts("RegisteredNode").length === NODES.length;

/** The first part: failures that end again. */
export async function playChanges(reporting: SideBySideRecorder): Promise<void> {
  const { stage } = reporting;
  await reporting.step(
    "nodes and pods exist",
    () => {
      stage.register(ZONES);
      return stage.create(PODS);
    },
    (timeline) =>
      NODES.every((node) => shows(timeline, node, "True", "not-ready:NoSchedule")) &&
      PODS.every(({ name }) => timeline.shown(`Pod ${name}`, "Ready") === "True"),
  );
  await reporting.step(
    "the controller starts",
    () => stage.restart(),
    (timeline) => areRegistered(timeline) && NODES.every((node) => isWell(node)(timeline)),
  );
  const away = "away-for-a-while";
  await reporting.step("a node falls silent", () => stage.silence(away), isUnreachable(away));
  await reporting.step("it returns", () => stage.resume(away), isWell(away));
  const ill = "said-to-be-ill";
  await reporting.step(
    "a kubelet reports NotReady",
    () => stage.report(ill, "Ready", "False"),
    (timeline) => shows(timeline, ill, "False", "not-ready:NoSchedule", "not-ready:NoExecute"),
  );
  await reporting.step("and then it falls silent", () => stage.silence(ill), isUnreachable(ill));
  await reporting.step(
    "and then it reports Ready",
    () => {
      stage.report(ill, "Ready", "True");
      stage.resume(ill);
    },
    isWell(ill),
  );
  await reporting.step(
    "a node is cordoned",
    () => stage.specify("cordoned", { unschedulable: true }),
    (timeline) => shows(timeline, "cordoned", "True", "unschedulable:NoSchedule"),
  );
  await reporting.step(
    "it is uncordoned",
    () => stage.specify("cordoned", { unschedulable: null }),
    isWell("cordoned"),
  );
  const pressed = "under-pressure";
  await reporting.step(
    "a node is under memory pressure",
    () => stage.report(pressed, "MemoryPressure", "True"),
    (timeline) => shows(timeline, pressed, "True", "memory-pressure:NoSchedule"),
  );
  await reporting.step(
    "the memory pressure ends",
    () => stage.report(pressed, "MemoryPressure", "False"),
    isWell(pressed),
  );
}

/** The second part: a node that does not return, a deleted node, and a controller that is killed meanwhile. */
export async function playSteadyState(reporting: SideBySideRecorder): Promise<void> {
  const { stage } = reporting;
  const gone = "away-for-good";
  await reporting.step(
    "a node falls silent and does not return",
    () => stage.silence(gone),
    (timeline) => isUnreachable(gone)(timeline) && timeline.shown("Pod for-five-seconds", "deletion") !== null,
  );
  await reporting.step(
    "the controller is killed and restarted",
    () => stage.restart(),
    (timeline) => areRegistered(timeline) && isUnreachable(gone)(timeline),
  );
  const removed = "steady-in-a";
  await reporting.step(
    "a node is deleted",
    () => stage.remove(removed),
    (timeline) => timeline.eventTexts("RemovingNode").length === 1,
  );
}
