/** The parts of a story: an action on the cluster, the expected result, and the text for each. */
import type { Controls } from "./controls.ts";
import type { Narration } from "./narration.ts";

/** One scene of the story. */
export interface Scene {
  readonly begins: string;
  /** The action on the cluster. */
  readonly act?: (controls: Controls) => void;
  /** The expected result, in words for when it does not come. */
  readonly awaits: string;
  readonly until: (narration: Narration) => boolean;
  /** Printed when the result has come. */
  readonly ends: (seen: Narration) => string;
  /** Least length, in milliseconds; 0 when not given. */
  readonly minMs?: number;
  /** Whether the next scene follows without the pause for reading. */
  readonly isBrief?: true;
}

/** Scenes that belong together. Afterwards the cluster is as it was before. */
export interface Act {
  /** Names it in a list of acts. */
  readonly title: string;
  readonly scenes: readonly Scene[];
}

/** Whether these nodes are ready and without taints of Vigil's. */
export function areWell(seen: Narration, names: readonly string[]): boolean {
  return names.every((name) => {
    const node = seen.nodes.get(name);
    return node?.readiness === "ready" && node.eviction === "unmarked";
  });
}
