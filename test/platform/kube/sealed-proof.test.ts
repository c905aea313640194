/** A kubelet may write any annotation of its node, so a proof counts only under its seal, a label it may not write. */
import { describe, expect, test } from "vitest";
import { Annotation, PROOF_SEAL_LABEL } from "../../../protocols/names.ts";
import { downProofText } from "../../../services/domain/down-proof.ts";
import { proofMetadata } from "../../../services/platform/kube/proof-seal.ts";
import { projectNode, UNREPORTED } from "../../../services/platform/kube/watch/projection.ts";

const PROOF = { proof: "Manual", by: "oncall", at: Date.UTC(2026, 0, 1), reason: "off" } as const;
const TEXT = downProofText(PROOF);
const SEALED = proofMetadata(TEXT);
const FORGED = downProofText({ ...PROOF, at: PROOF.at + 60_000 });

function provedDown(metadata: object) {
  return projectNode({ metadata: { name: "n", uid: "u", resourceVersion: "1", ...metadata } }, UNREPORTED)?.provedDown;
}

describe("a proof", () => {
  test("with its seal counts", () => expect(provedDown(SEALED)).toEqual(PROOF));

  test("without a seal does not exist", () => {
    expect(provedDown({ annotations: { [Annotation.provedDown]: TEXT } })).toBeUndefined();
  });

  test.each([
    ["another text under the seal", { ...SEALED, annotations: { [Annotation.provedDown]: FORGED } }],
    ["no text under the seal", { ...SEALED, annotations: {} }],
    ["an endless text under the seal", { ...SEALED, annotations: { [Annotation.provedDown]: "x".repeat(70_000) } }],
    ["a seal that is no digest", { ...SEALED, labels: { [PROOF_SEAL_LABEL]: "yes" } }],
  ])("of %s is older than every silence", (_what, metadata) => {
    expect(provedDown(metadata)).toMatchObject({ at: 0 });
  });
});
