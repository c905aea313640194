/**
 * Two writers of one field may not fight for ever. While a node's state is unchanged, Vigil may change back a field
 * that another client changed only a few times an hour.
 */
import { BrokenInvariant, type CheckedNode, type CheckedPod, conditionOf, taintName } from "./invariants.ts";

/** How often a field may be changed back within an hour. */
const TIMES_MAX = 3;
const HOUR_MS = 3_600_000;

/** Follows every field that both Vigil and other clients write. */
export class Contests {
  /** When Vigil last changed back a field, since its node was in its present state. */
  readonly #times = new Map<string, number[]>();
  /** The last writer of a field. */
  readonly #writers = new Map<string, string>();

  /** Records a change of a node's taints. */
  node(before: CheckedNode, after: CheckedNode, { writer, wallMs }: { writer: string; wallMs: number }): void {
    const [had, has] = [before, after].map((node) => new Set((node.spec?.taints ?? []).map(taintName)));
    const changed = [...new Set([...(had ?? []), ...(has ?? [])])].filter((name) => had?.has(name) !== has?.has(name));
    for (const name of changed) this.#write(`${after.metadata.uid} ${name} ${episodeOf(after)}`, writer, wallMs);
  }

  /** Records a change of a pod's Ready condition; `node` is the one that it is bound to. */
  pod(
    before: CheckedPod,
    after: CheckedPod,
    { node, writer, wallMs }: { node: CheckedNode; writer: string; wallMs: number },
  ): void {
    const [was, is] = [before, after].map(({ status }) => status?.conditions?.find(({ type }) => type === "Ready"));
    if (was?.status === is?.status) return;
    this.#write(`${after.metadata.uid} Ready ${episodeOf(node)}`, writer, wallMs);
  }

  /** The API server went back to an earlier state: that is no other client, however often it happens. */
  restored(): void {
    this.#times.clear();
  }

  #write(field: string, writer: string, wallMs: number): void {
    const before = this.#writers.get(field);
    this.#writers.set(field, writer);
    if (writer === "" || before !== "") return;
    const times = [...(this.#times.get(field) ?? []), wallMs].filter((atMs) => wallMs - atMs < HOUR_MS);
    this.#times.set(field, times);
    if (times.length <= TIMES_MAX) return;
    throw new BrokenInvariant(`${field} was changed back ${times.length} times within an hour`);
  }
}

/** The state of a node that lasts until its Ready condition changes. */
function episodeOf(node: CheckedNode): string {
  const ready = conditionOf(node, "Ready");
  return `${ready?.status} since ${ready?.lastTransitionTime}`;
}
