/** Explanations of a zone: its state, its queue, and how it is named. */
import { describe, expect, test } from "vitest";
import { policySet } from "../../../services/domain/node-policy.ts";
import { fixedPolicies } from "../../../services/platform/node-policies/policy-receiver.ts";
import { judgedNode, judgedZone, ledgerWorld } from "../ledger-world.ts";

const B = { zone: "eu:\u0000:b" };

describe("a zone is explained", () => {
  test("with its rate, its next nodes and its history", () => {
    const { receive, ledger } = ledgerWorld();
    receive("judged.zone", judgedZone(B), null);
    const disrupted = { state: "PartialDisruption", notReady: 6, taintsPerSecond: 0.01 } as const;
    receive("judged.zone", judgedZone({ ...B, ...disrupted, queueLength: 5, queue: ["n-1", "n-2"] }), null);
    const explained = ledger.reader.explainZone("eu/b");
    expect(explained?.sentences).toEqual([
      "Zone eu/b is PartialDisruption: 6 of 10 nodes not ready; eviction rate: one node every 100 s.",
      "5 nodes in its eviction queue; next: n-1 and n-2.",
    ]);
    expect(explained?.timeline.map(({ text }) => text.split(":")[0])).toEqual(["is Normal", "is PartialDisruption"]);
  });

  test("with a freeze of all nodes, whatever its rate", () => {
    const everywhere = {
      frozen: [{ fromAt: Date.UTC(2026, 0, 1), toAt: null }],
      pauseRequests: [{ name: "alice", reason: null, sinceAt: null, untilAt: null }],
    };
    const { receive, ledger } = ledgerWorld({ policies: fixedPolicies(policySet([], everywhere)) });
    receive("judged.zone", judgedZone(B), null);
    expect(ledger.reader.explainZone("b")?.sentences).toContain(
      "All nodes are frozen by alice through vigil freeze --all until a user thaws them, so it admits none.",
    );
    expect(ledger.reader.overview().zones).toMatchObject([{ frozenBy: "alice through vigil freeze --all" }]);
  });

  test("beside upstream as one that upstream keeps", () => {
    const { receive, ledger } = ledgerWorld({ profile: { upstream: "beside" } });
    receive("judged.node", judgedNode("n-1", B), null);
    expect(ledger.reader.explainZone("eu/b")?.sentences).toEqual([
      "Vigil works beside upstream, whose controllers keep the zone and its eviction rate.",
    ]);
    expect(ledger.reader.explainZone("eu/c")).toBeNull();
    expect(ledger.reader.overview().isBeside).toBe(true);
  });

  test("as last known when its owner has stopped publishing", () => {
    const { receive, ledger, clock } = ledgerWorld();
    receive("judged.zone", judgedZone(B), null);
    clock.advance(60_000);
    expect(ledger.reader.explainZone("b")?.sentences).toEqual([
      "Zone eu/b was Normal at 2026-01-01T00:00:00Z, and its owner has published nothing since.",
    ]);
  });

  test.each([
    ["eu/b", "eu/b"],
    ["us/b", "us/b"],
    ["c", "us/c"],
    ["us:\u0000:c", "us/c"],
    ["b", null],
    ["d", null],
  ])("by a name that only it has: %j", (name, title) => {
    const { receive, ledger } = ledgerWorld();
    for (const zone of ["eu:\u0000:b", "us:\u0000:b", "us:\u0000:c"])
      receive("judged.zone", judgedZone({ zone }), null);
    const sentences = ledger.reader.explainZone(name)?.sentences;
    expect(sentences?.[0]?.split(" ")[1] ?? null).toBe(title);
  });

  test.each([
    [{ state: "FullDisruption", taintsPerSecond: 0.1 }, true],
    [{ state: "FullDisruption", taintsPerSecond: 0.1, halted: true }, false],
    [{ state: "FullDisruption", taintsPerSecond: 0 }, false],
    [{ state: "PartialDisruption", taintsPerSecond: 0.01 }, false],
  ] as const)("says why all of it is evicted: %j: %s", (changes, isSaid) => {
    const { ledger, receive } = ledgerWorld();
    receive("judged.zone", judgedZone({ zone: "eu:\u0000:b", size: 10, notReady: 10, ...changes }), null);
    const sentences = ledger.reader.explainZone("eu/b")?.sentences.join(" ") ?? "";
    expect(sentences.includes("evicted at its own full rate, as upstream does")).toBe(isSaid);
  });
});
