/** The statistics of a comparison: how often both sides acted, how often one, and how much earlier Vigil was. */
import type { ComparedStep, ComparisonReport } from "../../../protocols/ledger-reader.ts";

/** One kind of step, counted over all nodes or pods. */
export interface StepCounts {
  readonly what: string;
  readonly both: number;
  readonly vigilOnly: number;
  readonly othersOnly: number;
  /** How much later the others were, in milliseconds; null without a step that both did. */
  readonly leadP50Ms: number | null;
  readonly leadP99Ms: number | null;
}

/** A step of one side, with its reason and the id of the message that shows it. */
export interface Difference {
  readonly what: string;
  readonly object: string;
  readonly side: "vigil" | "others";
  readonly at: number;
  readonly id: string;
  readonly why: string;
}

/** Whether the API shows a step by another client. Without one there is nothing to compare with. */
export function isOtherSeen({ nodes, pods }: ComparisonReport): boolean {
  const isSeen = (...steps: readonly ComparedStep[]): boolean => steps.some(({ others }) => others !== null);
  return (
    nodes.some(({ unknown, noExecute }) => isSeen(unknown, noExecute)) ||
    pods.some(({ notReady, deleted }) => isSeen(notReady, deleted))
  );
}

/** How many steps in the API have an unknown author. */
export function authorlessOf(report: ComparisonReport): number {
  const steps = stepsOf(report).flatMap(([, all]) => all.map(([, step]) => step));
  return steps.filter(({ vigil, others, why }) => vigil === null && others === null && why !== null).length;
}

/** The steps of a report by kind, each with its object. */
function stepsOf({
  nodes,
  pods,
}: ComparisonReport): readonly (readonly [what: string, steps: [string, ComparedStep][]])[] {
  const nodeName = (node: string) => `node ${node}`;
  const podName = (namespace: string, name: string) => `pod ${namespace}/${name}`;
  return [
    ["Ready=Unknown", nodes.map(({ node, unknown }) => [nodeName(node), unknown])],
    ["NoExecute taint", nodes.map(({ node, noExecute }) => [nodeName(node), noExecute])],
    ["pod NotReady", pods.map(({ namespace, name, notReady }) => [podName(namespace, name), notReady])],
    ["pod deleted", pods.map(({ namespace, name, deleted }) => [podName(namespace, name), deleted])],
  ];
}

/**
 * The statistics of each kind of step; leads count only where both instants are known. An eviction that one side only
 * planned counts for neither side alone.
 */
export function stepCounts(report: ComparisonReport): StepCounts[] {
  return stepsOf(report).map(([what, all]) => {
    const steps = all.map(([, step]) => step);
    const leads = steps.flatMap(({ leadMs }) => leadMs ?? []).sort((left, right) => left - right);
    return {
      what,
      both: steps.filter(({ vigil, others }) => vigil !== null && others !== null).length,
      vigilOnly: steps.filter((step) => isAlone(step, "vigil")).length,
      othersOnly: steps.filter((step) => isAlone(step, "others")).length,
      leadP50Ms: quantile(leads, 0.5),
      leadP99Ms: quantile(leads, 0.99),
    };
  });
}

/** Every step that only one side did, the earliest first; none where no other controller was seen. */
export function differencesOf(report: ComparisonReport): Difference[] {
  if (!isOtherSeen(report)) return [];
  const differences = stepsOf(report).flatMap(([what, all]) =>
    all.flatMap(([object, step]): Difference[] => {
      const side = isAlone(step, "vigil") ? "vigil" : isAlone(step, "others") ? "others" : null;
      const instant = side === null ? null : step[side];
      return side === null || instant === null ? [] : [{ what, object, side, ...instant, why: step.why ?? "" }];
    }),
  );
  return differences.sort((left, right) => left.at - right.at);
}

function isAlone({ vigil, others }: ComparedStep, side: "vigil" | "others"): boolean {
  const [own, other] = side === "vigil" ? [vigil, others] : [others, vigil];
  return own !== null && own.isPlanned !== true && other === null;
}

/** The smallest value that this share of the sorted values does not exceed. */
function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}
