/** Whose a change is that the API shows: Vigil's, another controller's, or not known. */
import { describe, expect, test } from "vitest";
import type { ComparedStep, ComparisonReport } from "../../../protocols/ledger-reader.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import { noExecute, observedNode } from "../../support/observed-objects.ts";
import {
  askedCondition,
  askedEviction,
  askedTaint,
  doneNode,
  donePod,
  type LedgerWorld,
  ledgerWorld,
  WEB,
} from "../ledger-world.ts";

const UNREACHABLE = "node.kubernetes.io/unreachable";
const VERDICT = "conditions: Ready=Unknown MemoryPressure=Unknown";

/** A ledger of Vigil in place of upstream, which knows node n-1 as ready. */
function world(options: Parameters<typeof ledgerWorld>[0] = {}): LedgerWorld {
  const started = ledgerWorld(options);
  started.receive("observed.node", observedNode("n-1"), null);
  started.clock.advance(60_400);
  return started;
}

/** Shows the node as Unknown, and tainted if so; the API stamps whole seconds. */
function show(
  { receive, clock }: LedgerWorld,
  resourceVersion: string,
  isTainted = false,
  writtenBy?: ObservedNode["writtenBy"],
): void {
  const at = clock.wallMs();
  const stamp = Math.floor(at / 1000) * 1000;
  const taints = isTainted ? [noExecute(UNREACHABLE, { timeAdded: new Date(stamp).toISOString() })] : [];
  const { conditions, ...node } = observedNode("n-1", { ready: "Unknown", resourceVersion, taints });
  const unknown = conditions.map((condition) => ({ ...condition, transitionAt: stamp }));
  receive("observed.node", { ...node, conditions: unknown, ...(writtenBy && { writtenBy }) }, null);
}

const NEITHER: ComparedStep = { vigil: null, others: null, leadMs: null, why: null };

const requestVerdict = ({ receive }: LedgerWorld) => receive("asked.condition", askedCondition("n-1"), null);

function report({ ledger }: LedgerWorld): ComparisonReport {
  return ledger.reader.compare(0);
}

const sides = ({ vigil, others }: ComparedStep) => [
  ...(vigil === null ? [] : ["vigil"]),
  ...(others === null ? [] : ["others"]),
];
const unknownSides = (from: LedgerWorld) => report(from).nodes.flatMap(({ unknown }) => sides(unknown));

describe("Vigil's verdict", () => {
  const done = (id: string | null, { receive }: LedgerWorld) =>
    receive("done.write", doneNode("asked.condition", "n-1", { change: VERDICT, resourceVersion: "5" }), id);

  test.each<[string, (started: LedgerWorld) => void]>([
    [
      "before its reply",
      (started) => {
        const id = requestVerdict(started);
        show(started, "5");
        done(id, started);
      },
    ],
    [
      "after its reply",
      (started) => {
        done(requestVerdict(started), started);
        show(started, "5");
      },
    ],
    [
      "before its request",
      (started) => {
        show(started, "5");
        done(requestVerdict(started), started);
      },
    ],
    [
      "while its request is not received",
      (started) => {
        show(started, "5");
        done("node@m-0:unknown", started);
      },
    ],
  ])("is its own where the API shows it %s", (_when, act) => {
    const started = world();
    act(started);
    expect(unknownSides(started)).toEqual(["vigil"]);
    expect(started.ledger.reader.timeline().leads).toEqual([]);
  });

  test("has no known author before its outcome", () => {
    const started = world();
    requestVerdict(started);
    show(started, "5");
    expect(unknownSides(started)).toEqual([]);
  });

  test("whose reply is lost is Vigil's once the API shows it", () => {
    const started = world();
    const id = requestVerdict(started);
    const lost = { outcome: "unknown", change: VERDICT, resourceVersion: null, retrying: true } as const;
    started.receive("done.write", doneNode("asked.condition", "n-1", lost), id);
    show(started, "5");
    expect(unknownSides(started)).toEqual(["vigil"]);
  });

  test("is of a failure that ended before its reply", () => {
    const started = world();
    const id = requestVerdict(started);
    show(started, "5");
    started.receive("observed.node", observedNode("n-1", { resourceVersion: "6" }), null);
    done(id, started);
    expect(report(started).nodes.map(({ to, unknown }) => [to !== null, sides(unknown)])).toEqual([[true, ["vigil"]]]);
  });
});

test.each<[string, readonly string[]]>([
  ["kube-controller-manager", ["others"]],
  ["vigil", ["vigil"]],
])("a verdict is that of its field manager: %s", (ready, expected) => {
  const started = world();
  show(started, "5", false, { ready });
  expect(unknownSides(started)).toEqual(expected);
});

test("a taint is that of the field manager of the taints", () => {
  const started = world();
  show(started, "5", true, { taints: "kube-controller-manager" });
  const [node] = report(started).nodes;
  expect(sides(node?.noExecute ?? NEITHER)).toEqual(["others"]);
  expect(node?.unknown).toEqual({ ...NEITHER, why: "not known: nothing shows who wrote it" });
});

describe("a verdict of others", () => {
  test.each<["refused" | "ok", string]>([
    ["refused", "the lease was renewed after the verdict"],
    ["ok", "nothing is left to change"],
  ])("is not Vigil's where its request wrote nothing (%s)", (outcome, detail) => {
    const started = world();
    const id = requestVerdict(started);
    show(started, "5");
    const done = { outcome, detail, change: "", resourceVersion: null };
    started.receive("done.write", doneNode("asked.condition", "n-1", done), id);
    expect(unknownSides(started)).toEqual([]);
  });

  test("has the instant at which the watch showed it", () => {
    const started = world({ isShadow: true });
    const verdict = { outcome: "shadowed", change: VERDICT, resourceVersion: null } as const;
    started.receive("done.write", doneNode("asked.condition", "n-1", verdict), requestVerdict(started));
    started.clock.advance(4_300);
    show(started, "5");
    expect(report(started).nodes[0]?.unknown.leadMs).toBe(4_300);
  });

  test("is dated by the watch in the timeline too", () => {
    const started = world({ isShadow: true });
    const verdict = { at: started.clock.wallMs(), leaseRenewedAt: null, statusHeartbeatAt: null, conditions: [] };
    const unsent = observedNode("n-1", { ready: "Unknown", shadow: { verdict } });
    started.receive("observed.node", unsent, null);
    started.clock.advance(4_300);
    show(started, "5");
    const timeline = started.ledger.reader.explainNode("n-1")?.timeline ?? [];
    expect(timeline.map(({ text }) => text)).toContain(
      "another controller wrote Ready=Unknown 4.3 s after Vigil would have",
    );
  });

  test("that the watch shows late has the instant of its stamp", () => {
    const started = world({ isShadow: true });
    const verdict = { outcome: "shadowed", change: VERDICT, resourceVersion: null } as const;
    started.receive("done.write", doneNode("asked.condition", "n-1", verdict), requestVerdict(started));
    const { conditions, ...node } = observedNode("n-1", { ready: "Unknown", resourceVersion: "5" });
    const transitionAt = started.clock.wallMs() + 4_600;
    started.clock.advance(40_000);
    const late = conditions.map((condition) => ({ ...condition, transitionAt }));
    started.receive("observed.node", { ...node, conditions: late }, null);
    expect(report(started).nodes[0]?.unknown.leadMs).toBe(4_600);
  });
});

test.each([
  ["before", ["shown", "done"]],
  ["after", ["done", "shown"]],
])("a taint of Vigil's is its own where the API shows it %s its reply", (_when, order) => {
  const started = world();
  const id = started.receiveAs("zone", "asked.taint", askedTaint("n-1"), null);
  const done = { change: `taints: +${UNREACHABLE}:NoExecute`, resourceVersion: "6" };
  for (const step of order) {
    if (step === "shown") show(started, "6", true);
    else started.receive("done.write", doneNode("asked.taint", "n-1", done), id);
  }
  expect(report(started).nodes.flatMap(({ noExecute: taint }) => sides(taint))).toEqual(["vigil"]);
});

test("in place of upstream, Vigil's own steps about pods count", () => {
  const started = world();
  show(started, "5");
  const deletion = started.receive("asked.eviction", askedEviction(), null);
  started.receive("done.write", donePod("asked.eviction"), deletion);
  const mark = started.receive("asked.unready", WEB, null);
  started.receive("done.write", donePod("asked.unready", { change: "Ready=False" }), mark);
  const { pods, ownPodsFrom, from } = report(started);
  expect(pods.map(({ name, notReady, deleted }) => [name, sides(notReady), sides(deleted)])).toEqual([
    ["web", ["vigil"], ["vigil"]],
  ]);
  expect(ownPodsFrom).toBe(from);
});

test("what a node shows when first seen has no known author", () => {
  const started = ledgerWorld();
  started.clock.advance(1_000);
  show(started, "5", true);
  expect(report(started).nodes).toEqual([]);
});
