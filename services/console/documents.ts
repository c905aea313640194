/** Makes the documents of reports (protocols/documents.ts). */
import type {
  ExplanationDocument,
  NodeDocument,
  PodDocument,
  PolicyDocument,
  ZoneDocument,
} from "../../protocols/documents.ts";
import type {
  Explanation,
  NodeReport,
  PendingEviction,
  PolicyReport,
  ZoneReport,
} from "../../protocols/ledger-reader.ts";
import { apiMicroTime } from "../domain/api-time.ts";
import { asSet } from "../domain/format.ts";
import { zoneTitleOf } from "../domain/zone-key.ts";

/** An instant in RFC 3339 with milliseconds, in UTC. */
export function instantText(epochMs: number): string {
  return `${apiMicroTime(epochMs).slice(0, 23)}Z`;
}

function timeOrNull(epochMs: number | null): string | null {
  return epochMs === null ? null : instantText(epochMs);
}

/** The document of a zone. */
export function zoneDocument({
  zone,
  title,
  state,
  since,
  taintsPerSecond,
  tokens,
  heldBack,
  frozenBy,
  ...counts
}: ZoneReport): ZoneDocument {
  const { size, notReady, queueLength, halted } = counts;
  return {
    zone: title,
    zoneKey: zone,
    state,
    halted,
    since: instantText(since),
    size,
    notReady,
    taintsPerSecond: asSet(taintsPerSecond),
    tokens: asSet(tokens),
    queueLength,
    ...(heldBack === undefined ? {} : { heldBack: [...heldBack] }),
    ...(frozenBy === undefined ? {} : { frozenBy }),
  };
}

/** The document of a node. */
export function nodeDocument({ zone, since, heartbeatAt, evictionFromAt, ...node }: NodeReport): NodeDocument {
  return {
    ...node,
    since: instantText(since),
    heartbeatAt: timeOrNull(heartbeatAt),
    ...(evictionFromAt === undefined ? {} : { evictionFromAt: instantText(evictionFromAt) }),
    zone: zoneTitleOf(zone),
    zoneKey: zone,
  };
}

/** The document of a node policy. */
export function policyDocument({ breaker, holds, freeze, ...policy }: PolicyReport): PolicyDocument {
  return {
    ...policy,
    breaker: breaker && { ...breaker, resetAt: timeOrNull(breaker.resetAt) },
    holds: holds.map((hold) => ({ ...hold, untilAt: timeOrNull(hold.untilAt) })),
    freeze: freeze && {
      sinceAt: instantText(freeze.sinceAt),
      untilAt: timeOrNull(freeze.untilAt),
      causes: [...freeze.causes],
    },
  };
}

/** The document of a pod that waits for its deletion. */
export function podDocument({ frozen, waits, ...pod }: PendingEviction): PodDocument {
  return {
    ...pod,
    deadlineAt: timeOrNull(pod.deadlineAt),
    ...(frozen === undefined ? {} : { frozen: { ...frozen, untilAt: timeOrNull(frozen.untilAt) } }),
    ...(waits === undefined ? {} : { waits: { ...waits, expectedAt: timeOrNull(waits.expectedAt) } }),
  };
}

/** The document of an explanation. */
export function explanationDocument({ sentences, names, timeline }: Explanation): ExplanationDocument {
  return {
    sentences: [...sentences],
    names: names.map((inSentence) => [...inSentence]),
    timeline: timeline.map(({ names: inText, ...decision }) => ({
      ...decision,
      at: instantText(decision.at),
      ...(inText && { names: [...inText] }),
    })),
  };
}
