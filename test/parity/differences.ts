/** What may differ between the two timelines, each by the rows of docs/parity.md that say why. */

/** Lines that one side alone may show. */
export interface Difference {
  /** Rows of docs/parity.md. */
  readonly rows: readonly string[];
  readonly shownBy: "theirs" | "ours";
  readonly line: RegExp;
  /** The only step it may come in; any when it is left out. */
  readonly step?: string;
  /** Whether the story need not bring it about, because it depends on who is faster. */
  readonly sometimes?: true;
}

const RESTART = "the controller is killed and starts again";
const AFTER_RESTART = "a node is taken away";

/** All of them. */
export const DIFFERENCES: readonly Difference[] = [
  { rows: ["R4.9", "L20"], shownBy: "theirs", line: /^Node \S+ NoExecute taints: (two at once|none)$/ },
  { rows: ["R2.28", "L18"], shownBy: "ours", line: /^Pod of-an-ill-node Ready: /, step: "and then nothing" },
  { rows: ["R2.28", "L18"], shownBy: "ours", line: /NodeNotReady .* Pod of-an-ill-node /, step: "and then nothing" },
  { rows: ["R2.28", "L18"], shownBy: "ours", line: /^Pod of-an-ill-node Ready: /, step: "and then that it is well" },
  { rows: ["D13", "R8.28"], shownBy: "ours", line: /^Pod \S+ DisruptionTarget: True, DeletionByTaintManager: / },
  { rows: ["R2.9", "L4"], shownBy: "theirs", line: /^Node away-for-good unreachable:NoExecute: /, step: RESTART },
  {
    // 1.20 patches the whole list without a version: a taint set in between is lost for a moment, and set again.
    rows: ["R4.14", "L44", "D12"],
    shownBy: "theirs",
    line: /^Node \S+ (not-ready|unreachable):(NoSchedule|NoExecute): /,
    sometimes: true,
  },
  { rows: ["R8.20", "L3"], shownBy: "theirs", line: /Cancelling deletion of Pod/, step: RESTART, sometimes: true },
  { rows: ["R8.25", "L31"], shownBy: "theirs", line: /Marking for deletion Pod/, step: RESTART, sometimes: true },
  {
    // Counted anew from the restart, the five seconds may be over in the next step only.
    rows: ["R8.20", "L3", "R8.25", "L31"],
    shownBy: "theirs",
    line: /Marking for deletion Pod default\/for-five-seconds$/,
    step: AFTER_RESTART,
    sometimes: true,
  },
];

/**
 * One of upstream's lines as it would be were its Events about taints named after the controller of 1.36 (D5) and given
 * the pod's uid (D6).
 */
export function bettered(line: string): string {
  return line.replace(/ of taint-controller about (Pod \S+) without uid /, " of taint-eviction-controller about $1 ");
}
