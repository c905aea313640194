/** Sentences about the remediations of a node that is not Ready. */
import type { RemediatedNode } from "../../../protocols/judged.ts";
import { apiTime } from "../../domain/api-time.ts";
import { spanText } from "../../domain/format.ts";
import type { NodeRecord } from "../state/cluster-state.ts";
import { isRecent } from "../state/waiting-nodes.policy.ts";
import { type ExplainContext, UNDATED } from "./explain-context.ts";
import { quotedText } from "./quoted-text.ts";
import { type Sentence, sentence } from "./sentences.ts";

/** The sentence about a node whose policy has remediations; none for one that needs none. */
export function remediationSentences({ name, judged }: NodeRecord, { state, now }: ExplainContext): Sentence[] {
  const record = judged?.policy === undefined ? undefined : state.remediations.get(judged.policy);
  if (record === undefined || !isRecent(record, now)) return [];
  const report = record.judged.nodes.find(({ node }) => node === name);
  return report === undefined ? [] : [sentenceOf(report, state.nodes, now)];
}

function sentenceOf(report: RemediatedNode, nodes: ExplainContext["state"]["nodes"], now: number): Sentence {
  const { kind = "", state, sinceAt, detail = "" } = report;
  const at = sinceAt === undefined ? UNDATED : apiTime(sinceAt);
  switch (state) {
    case "dryRun":
      return sentence(detail === "" ? "nodeRemediationDry" : "nodeRemediationAccepted", { kind });
    case "due":
      return sentence("nodeRemediationDue", { kind });
    case "running": {
      const until = untilText(report, now);
      if (detail !== "") return sentence("nodeRemediationUnanswered", { kind, at, until });
      return sentence("nodeRemediated", { kind, at, until });
    }
    case "succeeded":
      return sentence("nodeRemediationSucceeded", { kind, at });
    case "exhausted":
      return sentence("nodeRemediationsOver", {});
    case "waits":
    case "notAdmitted":
    case "held":
    case "ending":
    case "foreign":
    case "blocked":
      return sentence("nodeRemediationWaits", { kind, why: quotedText(whyText(state, report, now), nodes) });
  }
}

function untilText({ untilAt }: RemediatedNode, now: number): string {
  if (untilAt === undefined) return "its end is not known";
  return untilAt > now ? `until ${apiTime(untilAt)} at most` : `its time was over at ${apiTime(untilAt)}`;
}

function whyText(
  state: keyof typeof WHY | "waits" | "held" | "blocked",
  { untilAt, detail = "" }: RemediatedNode,
  now: number,
): string {
  if (state === "held") return `${detail} blocks it`;
  if (state === "blocked") return detail;
  if (state !== "waits") return WHY[state];
  const reports = "its kubelet reports, and may get ready by itself";
  return untilAt === undefined ? reports : `${reports} for another ${spanText(Math.max(0, untilAt - now))}`;
}

const WHY = {
  notAdmitted: "it begins once the node is admitted for eviction",
  ending: "the one before is being deleted",
  foreign: "an object of this kind exists that Vigil did not make",
} as const;
