/**
 * The seal of a proof that a node is down: a digest of the annotation, in a label that its kubelet may not write. With
 * both in one patch the API server never shows one without the other.
 */
import { createHash } from "node:crypto";
import { Annotation, PROOF_SEAL_LABEL } from "../../../protocols/names.ts";

const SEAL_CHARACTERS = 40;

/** The metadata of a Node that records a proof with its seal; null for none. */
export function proofMetadata(text: string | null): {
  readonly annotations: Readonly<Record<string, string | null>>;
  readonly labels: Readonly<Record<string, string | null>>;
} {
  const seal = text === null ? null : proofSeal(text);
  return { annotations: { [Annotation.provedDown]: text }, labels: { [PROOF_SEAL_LABEL]: seal } };
}

/** The seal of that annotation's value. */
export function proofSeal(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, SEAL_CHARACTERS);
}
