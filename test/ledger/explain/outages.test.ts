/** What explain says of a pod whose countdown stands or has stood still because no node could be heard. */
import { describe, expect, test } from "vitest";
import { SETTLED_KEPT_MS } from "../../../services/ledger/state/pod-records.ts";
import { HandPolicies } from "../../support/hand-policies.ts";
import { observedNode } from "../../support/observed-objects.ts";
import { judgedNode, judgedPod, ledgerWorld, livePod, podSentences, pulse, UNREACHABLE } from "../ledger-world.ts";

const START_AT = Date.UTC(2026, 0, 1);
const S = 1000;
const GRACE_MS = 50 * S;
const OUTAGE = { fromAt: START_AT + 100 * S, toAt: START_AT + 700 * S };
const WHY = "Its node n-1 carries node.kubernetes.io/unreachable:NoExecute, which it tolerates for 300 s.";

/** Pod web tolerates the taint of its node, which is there since 00:00, for 300 s; it is 00:13:20. */
function world({
  memory = [],
  taintedAt = "2026-01-01T00:00:00Z",
}: {
  memory?: (typeof OUTAGE)[];
  taintedAt?: string;
}) {
  const policies = new HandPolicies();
  policies.put(null, [], memory);
  const made = ledgerWorld({ policies, profile: { nodeMonitorGraceMs: GRACE_MS } });
  const spec = { tolerations: [{ ...UNREACHABLE, operator: "Exists", tolerationSeconds: 300 }] };
  made.kube.pods.set("default/web", livePod({ spec }));
  made.clock.advance(800 * S);
  const taints = [{ ...UNREACHABLE, timeAdded: taintedAt }];
  made.receive("observed.node", observedNode("n-1", { ready: "Unknown", taints }), null);
  made.receive("judged.node", judgedNode("n-1", { readiness: "unknown", ready: "Unknown", eviction: "evicted" }), null);
  return made;
}

describe("while no node can be heard", () => {
  test("a pod stays, and has no deadline", () => {
    const made = world({});
    made.receive("judged.pod", judgedPod({ deadlineAt: null, outage: { fromAt: OUTAGE.fromAt, toAt: null } }), null);
    expect(podSentences(made).slice(0, 2)).toEqual([
      "Pod default/web stays for now: no node can be heard since 2026-01-01T00:01:40Z, so its countdown is paused.",
      WHY,
    ]);
    expect(made.ledger.reader.pendingEvictions(10)).toMatchObject([{ deadlineAt: null, isInOutage: true }]);
  });

  test("nothing may show since when", () => {
    const made = world({});
    made.receive("judged.pod", judgedPod({ deadlineAt: null, outage: { fromAt: 0, toAt: null } }), null);
    expect(podSentences(made)[0]).toContain("no node can be heard, and nothing shows since when");
  });

  test("a pod does not stay for an outage that is over", () => {
    const made = world({ memory: [OUTAGE] });
    made.receive("judged.pod", judgedPod({ deadlineAt: null, outage: { fromAt: 0, toAt: null } }), null);
    made.clock.advance(10 * S);
    made.receive("observed.pulse", pulse(0, { outages: [OUTAGE] }), null);
    expect(podSentences(made)[0]).toContain("has to leave by 2026-01-01T00:15:00Z");
  });

  test("a pod is not forgotten", () => {
    const made = world({});
    made.receive("judged.pod", judgedPod({ deadlineAt: null, outage: { fromAt: OUTAGE.fromAt, toAt: null } }), null);
    made.clock.advance(2 * SETTLED_KEPT_MS);
    expect(made.ledger.reader.overview().pendingEvictions).toBe(1);
  });

  test("a ledger that starts late says the same", () => {
    const made = world({});
    made.receive("observed.pulse", pulse(0, { outages: [{ fromAt: OUTAGE.fromAt, toAt: null }] }), null);
    expect(podSentences(made)[0]).toContain("no node can be heard since 2026-01-01T00:01:40Z");
  });
});

test("an outage has metrics", async () => {
  const made = world({});
  const gauges = async () => (await made.metrics.text()).match(/^vigil_outage.*$/gm);
  made.receive("observed.pulse", pulse(0, { outages: [{ fromAt: OUTAGE.fromAt, toAt: null }] }), null);
  made.clock.advance(20 * S);
  expect(await gauges()).toEqual(["vigil_outage 1", "vigil_outage_seconds 720"]);
  made.receive("observed.pulse", pulse(0, { outages: [OUTAGE] }), null);
  made.clock.advance(20 * S);
  expect(await gauges()).toEqual(["vigil_outage 0", "vigil_outage_seconds 0"]);
});

describe("after an outage", () => {
  const deadlineAt = START_AT + 900 * S;

  test("explain says for how long a countdown stood still", () => {
    const made = world({ memory: [OUTAGE] });
    made.receive("judged.pod", judgedPod({ deadlineAt, outage: OUTAGE }), null);
    expect(podSentences(made).slice(0, 3)).toEqual([
      "Pod default/web is due to be deleted at 2026-01-01T00:15:00Z, in 100 s.",
      WHY,
      "No node could be heard from 2026-01-01T00:01:40Z to 2026-01-01T00:11:40Z: its countdown was paused for 10 min.",
    ]);
  });

  test("a taint of meanwhile stood still for less", () => {
    const made = world({ memory: [OUTAGE], taintedAt: "2026-01-01T00:10:40Z" });
    made.receive("judged.pod", judgedPod({ deadlineAt: START_AT + 1000 * S, outage: OUTAGE }), null);
    expect(podSentences(made)[2]).toContain("its countdown was paused for 60 s.");
  });

  test("a pod due soon waits for the grace period of its node", () => {
    const made = world({ memory: [{ fromAt: OUTAGE.fromAt, toAt: START_AT + 790 * S }] });
    const outage = { fromAt: OUTAGE.fromAt, toAt: START_AT + 790 * S };
    made.receive("judged.pod", judgedPod({ deadlineAt: outage.toAt + GRACE_MS, outage }), null);
    expect(podSentences(made)[2]).toBe(
      "No node could be heard until 2026-01-01T00:13:10Z: it is not due before its node had its grace period of 50 s.",
    );
  });

  test.each([
    ["nothing was left", [], "No node could be heard until 2026-01-01T00:11:40Z, and nothing was left"],
    [
      "it cannot be remembered",
      [OUTAGE],
      "No node could be heard from 2026-01-01T00:01:40Z to 2026-01-01T00:11:40Z, and",
    ],
  ])("a countdown counts again where %s", (_why, outages, text) => {
    const outage = { fromAt: 0, toAt: OUTAGE.toAt };
    const made = world({ memory: [outage] });
    made.receive("observed.pulse", pulse(0, { outages }), null);
    made.receive("judged.pod", judgedPod({ deadlineAt: OUTAGE.toAt + 300 * S, outage }), null);
    expect(podSentences(made)[2]).toContain(text);
    expect(podSentences(made)[2]).toContain("its countdown counts again from");
  });

  test("a ledger that starts late computes the same deadline", () => {
    const made = world({ memory: [OUTAGE] });
    expect(podSentences(made)[0]).toBe(
      "Pod default/web has to leave by 2026-01-01T00:15:00Z because of node.kubernetes.io/unreachable:NoExecute: " +
        "this ledger has received no deadline and computes it from the tolerations.",
    );
  });
});
