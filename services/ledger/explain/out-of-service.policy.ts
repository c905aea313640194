/** Sentences about how far a silent node is from the out-of-service taint, and what that taint causes. */
import { TaintKey } from "../../../protocols/names.ts";
import type { DownProof } from "../../../protocols/objects.ts";
import { apiTime } from "../../domain/api-time.ts";
import { spanText } from "../../domain/format.ts";
import type { NodeJudgement, NodeRecord } from "../state/cluster-state.ts";
import { type ExplainContext, UNDATED } from "./explain-context.ts";
import { quotedText } from "./quoted-text.ts";
import { type Sentence, sentence } from "./sentences.ts";

type Report = NonNullable<NodeJudgement["outOfService"]>;

/** The sentence about a node that is on its way to the taint, or carries it; none for any other. */
export function outOfServiceSentences(
  { name: node, observed, judged }: NodeRecord,
  { state, now }: Pick<ExplainContext, "state" | "now">,
): Sentence[] {
  const report = judged?.outOfService;
  if (report === undefined) return [];
  const taint = TaintKey.outOfService;
  const values = { ...proofValues(observed?.provedDown), taint };
  switch (report.state) {
    case "unproved":
      return [
        report.acceptsManual === true
          ? sentence("nodeUnproved", { node, taint })
          : sentence("nodeUnremediated", { taint }),
      ];
    case "outdated":
      return [sentence("nodeProofOutdated", { ...values, node })];
    case "waits":
      return [waitSentence(report, values, now)];
    case "notAdmitted":
      return [sentence("nodeProofNotAdmitted", values)];
    case "held":
      return [
        sentence("nodeProofHeld", {
          ...values,
          field: quotedText(report.heldBy ?? "something that is not known", state.nodes),
        }),
      ];
    case "due":
      return [sentence("nodeProofDue", values)];
    case "on":
      return [sentence("nodeOutOfService", { taint })];
    case "kept":
      return [sentence("nodeOutOfServiceKept", { taint })];
    case "takenOff":
      return [sentence("nodeOutOfServiceTakenOff", { node, taint })];
  }
}

type ProofValues = Readonly<Record<"by" | "at" | "reason" | "taint", string>>;

function waitSentence({ fromAt }: Report, values: ProofValues, now: number): Sentence {
  if (fromAt === undefined) return sentence("nodeProofWaitsFrozen", values);
  return sentence("nodeProofWaits", { ...values, from: apiTime(fromAt), span: spanText(fromAt - now) });
}

function proofValues(proof: DownProof | undefined): Readonly<Record<"by" | "at" | "reason", string>> {
  if (proof === undefined) return { by: "a user", at: UNDATED, reason: "no reason known" };
  return { by: proof.by || "a user", at: apiTime(proof.at), reason: proof.reason || "no reason given" };
}
