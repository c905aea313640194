/** The permitted differences between the two timelines, each with the rows of docs/parity.md that explain it. */

/** Lines that only one side may show. */
export interface Difference {
  /** Rows of docs/parity.md. */
  readonly rows: readonly string[];
  readonly shownBy: "theirs" | "ours";
  readonly line: RegExp;
  /** The only step in which they may occur; any step when it is missing. */
  readonly step?: string;
  /** Whether the difference may be absent from a run, because it depends on which side is faster. */
  readonly sometimes?: true;
}

const RESTART = "the controller is killed and restarted";
const AFTER_RESTART = "a node is deleted";

/** All of them. */
export const DIFFERENCES: readonly Difference[] = [
  { rows: ["R4.9", "L20"], shownBy: "theirs", line: /^Node \S+ NoExecute taints: (two at once|none)$/ },
  { rows: ["R2.28", "L18"], shownBy: "ours", line: /^Pod of-an-ill-node Ready: /, step: "and then it falls silent" },
  {
    rows: ["R2.28", "L18"],
    shownBy: "ours",
    line: /NodeNotReady .* Pod of-an-ill-node /,
    step: "and then it falls silent",
  },
  { rows: ["R2.28", "L18"], shownBy: "ours", line: /^Pod of-an-ill-node Ready: /, step: "and then it reports Ready" },
  // Not where the API server says that it is older than 1.26; a kube-apiserver may be built without its version.
  {
    rows: ["D13", "R8.28"],
    shownBy: "ours",
    line: /^Pod \S+ DisruptionTarget: True, DeletionByTaintManager: /,
    sometimes: true,
  },
  { rows: ["R2.9", "L4"], shownBy: "theirs", line: /^Node away-for-good unreachable:NoExecute: /, step: RESTART },
  {
    // 1.20 patches the whole list without a version: a taint set in between is lost for a moment and set again.
    rows: ["R4.14", "L44", "D12"],
    shownBy: "theirs",
    line: /^Node \S+ (not-ready|unreachable):(NoSchedule|NoExecute): /,
    sometimes: true,
  },
  { rows: ["R8.20", "L3"], shownBy: "theirs", line: /Cancelling deletion of Pod/, step: RESTART, sometimes: true },
  { rows: ["R8.25", "L31"], shownBy: "theirs", line: /Marking for deletion Pod/, step: RESTART, sometimes: true },
  {
    // The five seconds count again from the restart, so they may end only in the next step.
    rows: ["R8.20", "L3", "R8.25", "L31"],
    shownBy: "theirs",
    line: /Marking for deletion Pod default\/for-five-seconds$/,
    step: AFTER_RESTART,
    sometimes: true,
  },
];

/** One of upstream's lines, where its Events about taints have the pod's uid (D6). */
export function bettered(line: string): string {
  return line.replace(/ (of taint-controller about Pod \S+) without uid /, " $1 ");
}
