/** Explanations say which of their words are names of objects, so that a page makes links of them without guessing. */
import { expect, test } from "vitest";
import type { Decision, Explanation, NameInText } from "../../../protocols/ledger-reader.ts";
import { nodePolicyOf } from "../../../services/domain/node-policy.parse.ts";
import { policySet } from "../../../services/domain/node-policy.ts";
import { fixedPolicies } from "../../../services/platform/node-policies/policy-receiver.ts";
import { observedNode } from "../../support/observed-objects.ts";
import {
  askedEviction,
  askedTaint,
  doneNode,
  donePod,
  explainedPod,
  judgedNode,
  judgedPod,
  judgedZone,
  type LedgerWorld,
  ledgerWorld,
  UNREACHABLE,
} from "../ledger-world.ts";

const B = "eu:\u0000:b";
const STANDING = [{ ...UNREACHABLE, timeAdded: "2026-01-01T00:00:00Z" }];

/** A text with its names in brackets, each with its kind where it has another text than the object. */
function marked(text: string, names: readonly NameInText[] = []): string {
  const [name, ...later] = [...names].reverse();
  if (name === undefined) return text;
  const object = name.namespace === "" ? name.name : `${name.namespace}/${name.name}`;
  const shown = text.slice(name.from, name.to);
  const link = `[${name.kind} ${shown === object ? object : JSON.stringify([shown, object])}]`;
  return marked(text.slice(0, name.from), later.reverse()) + link + text.slice(name.to);
}

const sentencesOf = (explained: Explanation | null): string[] =>
  (explained?.sentences ?? []).map((text, index) => marked(text, explained?.names[index]));
const entriesOf = (decisions: readonly Decision[]): string[] => decisions.map(({ text, names }) => marked(text, names));

function gpuWorld(): LedgerWorld {
  const gpu = nodePolicyOf("gpu", { selector: { matchLabels: { pool: "gpu" } }, maxUnhealthy: 0 });
  return ledgerWorld({ policies: fixedPolicies(policySet([gpu])) });
}

test("a node's sentences name it, its zone, and the policy that holds it back", () => {
  const { receive, ledger } = gpuWorld();
  receive("observed.node", observedNode("n-1", { ready: "Unknown" }), null);
  const waits = { readiness: "unknown", ready: "Unknown", eviction: "toBeEvicted", policy: "gpu", zone: B } as const;
  receive("judged.node", judgedNode("n-1", waits), null);
  receive("judged.zone", judgedZone({ zone: B, size: 1, notReady: 1, queueLength: 1, queue: ["n-1"] }), null);
  const hold = { policy: "gpu", field: "maxUnhealthy", untilAt: null, detail: "1 of 0", nodes: 1 };
  const memory = { trippedAt: null, resetAt: null, isStorm: false, stormEndedAt: null, condemnations: [] };
  const counts = { selected: 1, unhealthy: 1, condemned: 0, inWindow: 0, permits: [] };
  receive("judged.limits", { policy: "gpu", ...counts, holds: [hold], memory }, null);
  const zone = `[Zone ${JSON.stringify(["eu/b", B])}]`;
  const explained = ledger.reader.explainNode("n-1");
  const sentences = sentencesOf(explained);
  expect(sentences[0]).toMatch(/^Node \[Node n-1\] has been unknown/);
  expect(sentences).toContain(`Its zone ${zone} is Normal: 1 of 1 node not ready, 1 node in the eviction queue.`);
  expect(sentences).toContain("It waits: maxUnhealthy of NodePolicy [NodePolicy gpu] blocks it: 1 of 0.");
  expect(entriesOf(explained?.timeline ?? [])).toContainEqual(
    expect.stringContaining(`waits for eviction in zone ${zone}`),
  );
  expect(sentencesOf(ledger.reader.explainZone("eu/b")).slice(1)).toEqual([
    "1 node in its eviction queue; next: [Node n-1].",
    "Blocked: 1 node by maxUnhealthy of NodePolicy [NodePolicy gpu].",
  ]);
});

test("a pod's sentences name it and its node", () => {
  const world = ledgerWorld();
  world.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints: STANDING }), null);
  world.receive("judged.node", judgedNode("n-1", { readiness: "unknown", eviction: "evicted" }), null);
  world.receive("judged.pod", judgedPod({ deadlineAt: world.clock.wallMs() + 3_600_000 }), null);
  expect(sentencesOf(explainedPod(world)).slice(0, 3)).toEqual([
    expect.stringMatching(/^Pod \[Pod default\/web\] is due to be deleted/),
    expect.stringMatching(/^Its node \[Node n-1\] carries node\.kubernetes\.io\/unreachable:NoExecute/),
    expect.stringMatching(/^Node \[Node n-1\] has been unknown/),
  ]);
});

test("a policy's sentences name its nodes, and the other policies that select them", () => {
  const { receive, ledger } = gpuWorld();
  for (const name of ["n-2", "n-1"]) {
    receive("observed.node", observedNode(name, { ready: "True" }), null);
    receive("judged.node", judgedNode(name, { policy: "gpu" }), null);
  }
  receive("observed.node", observedNode("n-3", { ready: "True" }), null);
  receive("judged.node", judgedNode("n-3", { conflict: ["gpu", "spot"] }), null);
  expect(sentencesOf(ledger.reader.explainPolicy("gpu")).slice(0, 3)).toEqual([
    "NodePolicy [NodePolicy gpu] selects nodes by pool=gpu.",
    "It applies to 2 nodes: [Node n-1] and [Node n-2].",
    expect.stringMatching(/: \[Node n-3\] \(NodePolicy \[NodePolicy spot\]\)\.$/),
  ]);
  expect(sentencesOf(ledger.reader.explainNode("n-3"))).toContainEqual(
    expect.stringContaining("selected by NodePolicy [NodePolicy gpu] and NodePolicy [NodePolicy spot], so none"),
  );
});

test.each([
  [
    "node n-1 is frozen: NodePolicy gpu: spec.mode (Freeze)",
    "node [Node n-1] is frozen: NodePolicy [NodePolicy gpu]: spec.mode (Freeze)",
  ],
  ['nodes "n-1" is forbidden', 'nodes "[Node n-1]" is forbidden'],
  ["the node is gone, as is node n-9", "the node is gone, as is node n-9"],
  ["n-1 <b>node n-1</b>", "n-1 <b>node [Node n-1]</b>"],
])("in the ready-made reason %j a name follows its kind, and the node exists", (detail, shown) => {
  const { receive, ledger } = ledgerWorld();
  receive("observed.node", observedNode("n-1"), null);
  receive("judged.node", judgedNode("n-1"), null);
  const asked = receive("asked.taint", askedTaint("n-1"), null);
  receive("done.write", doneNode("asked.taint", "n-1", { outcome: "refused", detail }), asked);
  const explained = ledger.reader.explainNode("n-1");
  expect(sentencesOf(explained)).toContainEqual(expect.stringMatching(/^A live read ruled out/));
  expect(sentencesOf(explained).join("\n")).toContain(`: ${shown}.`);
  expect(entriesOf(ledger.reader.decisions(1))).toEqual([expect.stringContaining(`(${shown})`)]);
});

test("the node of a pod's request is a name, known to the ledger or not", () => {
  const world = ledgerWorld();
  const asked = world.receive("asked.eviction", askedEviction({ taint: null }), null);
  const detail = "node n-1 is ready again";
  world.receive("done.write", donePod("asked.eviction", { outcome: "refused", detail }), asked);
  expect(sentencesOf(explainedPod(world))).toContainEqual(
    expect.stringMatching(/^A live read ruled out its deletion at .*: node \[Node n-1\] is ready again\.$/),
  );
});
