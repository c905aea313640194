/**
 * The proof that the machine of a node is off, as Annotation.provedDown records it. A proof comes from outside the
 * node: a person who checked, or a remediation that succeeded. Silence is no proof, however long it lasts. A kubelet
 * may write the annotation, so a label that it may not write seals it.
 */
import { DOWN_PROOFS } from "../../protocols/names.ts";
import type { DownProof } from "../../protocols/objects.ts";
import { parsed, recordOf, textOf } from "../structures/json.ts";
import { apiMicroTime, epochMsOf } from "./api-time.ts";

/** Longest name and reason that are kept, in characters: they travel in every message about the node. */
export const PROOF_WORDS_MAX = 256;

/** A sealed record that was changed: older than every silence, so it proves nothing and leaves with the next return. */
export const BROKEN_PROOF: DownProof = { proof: "Manual", by: "", at: 0, reason: "" };

/** The value of Annotation.provedDown. */
export function downProofText({ proof, by, at, reason }: DownProof): string {
  return JSON.stringify({ proof, by, at: apiMicroTime(at), reason });
}

/** Reads that value; null when it is malformed. Long texts are cut. */
export function readDownProof(text: string): DownProof | null {
  const { proof: written, by, at: time, reason } = recordOf(parsed(text));
  const proof = DOWN_PROOFS.find((known) => known === written);
  const at = epochMsOf(textOf(time));
  if (proof === undefined || at === null) return null;
  return { proof, by: shortened(by), at, reason: shortened(reason) };
}

function shortened(words: unknown): string {
  const whole = (textOf(words) ?? "").toWellFormed();
  return whole.length <= PROOF_WORDS_MAX ? whole : `${whole.slice(0, PROOF_WORDS_MAX - 1).toWellFormed()}…`;
}
