/** The checks of the simulation catch planted breaches and let close cases pass. */
import { describe, expect, it } from "vitest";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { profileGrace } from "./graces.ts";
import {
  type CheckedNode,
  type CheckedPod,
  type CheckedTaint,
  type CheckedToleration,
  checkDeletion,
  checkNodeWrite,
  type Standing,
  turnedUnready,
  type WriteContext,
} from "./invariants.ts";
import { drawSwarm, type Swarm } from "./swarm.ts";
import { ZoneRates } from "./zone-rates.ts";

const START = Date.UTC(2026, 0, 1);
const S = 1000;
const at = (seconds: number) => new Date(START + seconds * S).toISOString();
const [NOT_READY, UNREACHABLE] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] as const;
const noExecute = (key: string, more: Partial<CheckedTaint> = {}): CheckedTaint => ({
  key,
  effect: "NoExecute",
  timeAdded: at(0),
  ...more,
});

function swarm(profile: Partial<Swarm["profile"]> = {}): Swarm {
  const { processes, ...drawn } = drawSwarm(1);
  const [first = []] = processes;
  return { ...drawn, processes: [first], faults: new Set(), profile: { ...STANDARD_PROFILE, ...profile } };
}

/** The world some seconds after the start, where a node's kubelet has been silent for `silentMs`. */
function around(seconds: number, more: Partial<WriteContext> & { readonly silentMs?: number } = {}): WriteContext {
  const wallMs = START + seconds * S;
  const heartbeatAt = (_node: string, byMs: number) => byMs - (more.silentMs ?? 0);
  const standing = (): Standing => ({ seenAt: START });
  const graces = () => [profileGrace(STANDARD_PROFILE)];
  return { swarm: swarm(), wallMs, skewMs: 0, delayMaxMs: 0, heartbeatAt, graces, standing, ...more };
}

function node(ready: string | null, taints: readonly CheckedTaint[] = [], name = "n", zone = "a"): CheckedNode {
  const conditions = ready === null ? [] : [{ type: "Ready", status: ready }];
  const labels = { "topology.kubernetes.io/zone": zone };
  return { metadata: { name, uid: `uid-${name}`, labels }, spec: { taints }, status: { conditions } };
}

function pod(tolerations: readonly CheckedToleration[] = [], more: Partial<CheckedPod["metadata"]> = {}): CheckedPod {
  const metadata = { namespace: "default", name: "p", uid: "uid-p", creationTimestamp: at(0), ...more };
  return { metadata, spec: { nodeName: "n", tolerations } };
}

const tolerating = (key: string, tolerationSeconds?: number): CheckedToleration => ({
  key,
  operator: "Exists",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});

describe("a deletion of a pod", () => {
  const lost = node("Unknown", [noExecute(UNREACHABLE)]);
  const lineage = [NOT_READY, UNREACHABLE].map((key, index) => ({ key, at: START + index * 20 * S }));
  const swapped = { standing: (): Standing => ({ seenAt: START, lineage }) };
  const unequal = [tolerating(NOT_READY, 60), tolerating(UNREACHABLE, 300)];
  const restamped = node("Unknown", [noExecute(UNREACHABLE, { timeAdded: at(-600) })]);
  const isStampVoid = { standing: (): Standing => ({ seenAt: START, isStampVoid: true }) };
  const older = pod([tolerating(UNREACHABLE, 30)], { creationTimestamp: at(-60) });
  const isBelieved = { standing: (): Standing => ({ seenAt: START, isStampVoid: true, believedAt: START - 10 * S }) };

  it.each([
    ["from a node without a NoExecute taint", pod(), node("Unknown"), around(99), "without a NoExecute taint"],
    ["before its seconds are over", pod([tolerating(UNREACHABLE, 30)]), lost, around(29.9), "before timeAdded"],
    [
      "by a meaningless stamp",
      pod([tolerating(UNREACHABLE, 30)]),
      restamped,
      around(29.9, isStampVoid),
      "before timeAdded",
    ],
    ["that tolerates its taint for ever", pod([tolerating(UNREACHABLE)]), lost, around(9_999), "before timeAdded"],
    ["before the countdown of the taint before is over", pod(unequal), lost, around(59.9, swapped), "before timeAdded"],
  ])("%s is caught", (_what, gone, from, world, problem) => {
    expect(() => checkDeletion(gone, from, world)).toThrow(problem);
  });

  it.each([
    ["that tolerates nothing", pod(), lost, around(0)],
    ["whose seconds are over", pod([tolerating(UNREACHABLE, 30)]), lost, around(30)],
    ["whose countdown continued across a swap", pod(unequal), lost, around(60, swapped)],
    ["by a stamp that its owner found", older, restamped, around(20, isBelieved)],
  ])("%s is right", (_what, gone, from, world) => {
    expect(() => checkDeletion(gone, from, world)).not.toThrow();
  });

  it("in direct mode is caught on a ready node and of a DaemonSet", () => {
    const direct = around(99, { swarm: swarm({ evictionMode: "direct" }) });
    const daemon = pod([], { ownerReferences: [{ kind: "DaemonSet", controller: true }] });
    expect(() => checkDeletion(pod(), node("True"), direct)).toThrow("a node that is ready");
    expect(() => checkDeletion(daemon, node("Unknown"), direct)).toThrow("DaemonSet");
    expect(() => checkDeletion(pod(), node("Unknown"), direct)).not.toThrow();
  });
});

describe("a write to a node", () => {
  const foreign = noExecute("maintenance", { value: "yes" });
  const { nodeMonitorGraceMs, nodeStartupGraceMs } = STANDARD_PROFILE;
  const ready = node("True");
  const withMetadata = (more: Partial<CheckedNode["metadata"]>): CheckedNode => ({
    ...ready,
    metadata: { ...ready.metadata, ...more, labels: { ...ready.metadata.labels, ...more.labels } },
  });
  const withCondition = (type: string): CheckedNode => ({
    ...ready,
    status: {
      conditions: [
        { type: "Ready", status: "True" },
        { type, status: "True" },
      ],
    },
  });

  it.each([
    ["takes a foreign taint", node("True", [foreign]), node("True"), 0, "foreign taints"],
    [
      "changes a foreign taint",
      node("True", [foreign]),
      node("True", [{ ...foreign, value: "no" }]),
      0,
      "foreign taints",
    ],
    [
      "adds our second taint",
      node("False", [noExecute(NOT_READY)]),
      node(
        "False",
        [NOT_READY, UNREACHABLE].map((key) => noExecute(key)),
      ),
      0,
      "both",
    ],
    ["sets a label that is not ours", node("True"), withMetadata({ labels: { role: "x" } }), 0, "changed label"],
    ["sets an annotation that is not ours", node("True"), withMetadata({ annotations: { a: "x" } }), 0, "annotation a"],
    ["sets a condition that is not ours", node("True"), withCondition("Evil"), 0, "changed condition Evil"],
    ["makes a node Unknown in its grace", node("True"), node("Unknown"), nodeMonitorGraceMs - 2 * S, "of silence"],
    ["makes a new node Unknown in its grace", node(null), node("Unknown"), nodeStartupGraceMs - 2 * S, "of silence"],
  ])("that %s is caught", (_what, before, after, silentMs, problem) => {
    expect(() => checkNodeWrite(before, after, around(999, { silentMs }))).toThrow(problem);
  });

  it.each([
    ["makes a silent node Unknown", node("True", [foreign]), node("Unknown", [foreign]), nodeMonitorGraceMs],
    ["taints it", node("Unknown", [foreign]), node("Unknown", [foreign, noExecute(UNREACHABLE)]), 0],
    ["swaps its taint", node("False", [noExecute(UNREACHABLE)]), node("False", [noExecute(NOT_READY)]), 0],
  ])("that %s is right", (_what, before, after, silentMs) => {
    expect(() => checkNodeWrite(before, after, around(999, { silentMs }))).not.toThrow();
  });
});

describe("a taint of the zone", () => {
  /** The rates of zone `a` with some nodes down and some up, beside a healthy zone or a disrupted one. */
  function zoneRates(down: number, up: number, isOtherWell = true): ZoneRates {
    const followed = new ZoneRates(swarm(), () => {});
    const nodes = Array.from({ length: down + up }, (_, index) =>
      node(index < down ? "Unknown" : "True", [], `a-${index}`),
    );
    nodes.push(node(isOtherWell ? "True" : "Unknown", [], "b-0", "b"));
    for (const one of nodes) followed.note(one, false, START);
    return followed;
  }
  const turn = (followed: ZoneRates, name: string, seconds: number) => () =>
    followed.checkGrant(node("Unknown", [], name), around(seconds));

  it("too soon after the last is caught; one at the rate passes", () => {
    const followed = zoneRates(2, 8);
    turn(followed, "a-0", 0)();
    expect(turn(followed, "a-1", 10)).not.toThrow();
    expect(turn(followed, "a-2", 15)).toThrow("(P5)");
  });

  it.each([
    ["a zone that is stopped", 2, true, "in a zone stopped"],
    ["any zone while all are down", 0, false, "in a zone halted"],
  ])("in %s is caught, unless it may have been under way", (_what, up, isOtherWell, problem) => {
    const followed = zoneRates(3, up, isOtherWell);
    expect(turn(followed, "a-0", 50)).not.toThrow();
    expect(turn(followed, "a-1", 62)).toThrow(problem);
  });
});

describe("a write of a pod's status", () => {
  const podWith = (...conditions: readonly (readonly [string, string])[]): CheckedPod => ({
    metadata: { namespace: "default", name: "web", uid: "1", creationTimestamp: at(0) },
    spec: {},
    status: { conditions: conditions.map(([type, status]) => ({ type, status })) },
  });
  const UNREADY = ["Ready", "False"] as const;

  it.each([
    ["marks a pod that was ready", podWith(["Ready", "True"]), podWith(UNREADY), true],
    ["marks a pod without the condition", podWith(), podWith(UNREADY), true],
    ["that names an eviction marks nothing", podWith(UNREADY), podWith(UNREADY, ["DisruptionTarget", "True"]), false],
  ])("%s", (_what, before, after, isMark) => {
    expect(turnedUnready(before, after)).toBe(isMark);
  });
});
