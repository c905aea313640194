/** The explanation of a node with more taints than are published. */
import { expect, test } from "vitest";
import { judgedNode, observedNode } from "../../support/observed-objects.ts";
import { ledgerWorld } from "../ledger-world.ts";

test("the explanation of a node counts the taints that were left out", () => {
  const { clock, ledger, receive } = ledgerWorld();
  const taints = [{ key: "bare", effect: "NoExecute" }];
  receive("observed.node", observedNode("n-1", { taints, taintsOmitted: 4936 }), null);
  receive("judged.node", judgedNode("n-1"), null);
  clock.advance(0);
  expect(ledger.reader.explainNode("n-1")?.sentences).toContain(
    "It carries bare:NoExecute and 4936 more taints, which Vigil ignores.",
  );
});
