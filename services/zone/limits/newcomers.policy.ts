/**
 * The groups that a change of its labels has brought a node into, for as long as it counts there as a newcomer. A node
 * that was created with its labels, or that another policy selects now, is none.
 */
import type { ObservedNode } from "../../../protocols/objects.ts";

/** How long a node has to be in a policy before its state on arrival counts in the policy's limits, in milliseconds. */
const JOINING_MS = 600_000;

/** What a node was when it joined a group. */
interface Joining {
  /** When, on the monotonic clock. */
  readonly atMs: number;
  /** Whether budgets would count it, and have since then. */
  readonly cameDisrupted: boolean;
}

/** By group. */
export type Joined = ReadonlyMap<string, Joining>;

/** The value of almost every node. */
export const NOT_JOINED: Joined = new Map();

/** The groups of a node; null while that is not known. */
type Groups = readonly string[] | null;

/** A node before and after a message. */
export interface JoiningNode {
  readonly known: { readonly observed: ObservedNode; readonly joined: Joined; readonly groups: Groups } | null;
  readonly observed: ObservedNode;
  readonly groups: readonly string[];
  readonly isDisrupted: boolean;
  /** By the policies of now. */
  readonly groupsOf: (node: ObservedNode) => Groups;
}

/** The groups in which a node counts as a newcomer now; the same object while nothing changes. */
export function joinedGroups({ known, observed, groups, isDisrupted, groupsOf }: JoiningNode, nowMs: number): Joined {
  if (known === null) return NOT_JOINED;
  const isMoved = observed.labels !== known.observed.labels && groups !== known.groups;
  if (known.joined.size === 0 && !isMoved) return NOT_JOINED;
  // If its groups were not known, it may have had these labels already: a new policy shows them.
  const before = (isMoved ? groupsOf(known.observed) : null) ?? groups;
  const entries = groups.flatMap((group): [string, Joining][] => {
    const joining = known.joined.get(group);
    if (!before.includes(group)) return [[group, { atMs: nowMs, cameDisrupted: isDisrupted }]];
    if (joining === undefined || nowMs - joining.atMs >= JOINING_MS) return [];
    return [[group, joining.cameDisrupted && !isDisrupted ? { ...joining, cameDisrupted: false } : joining]];
  });
  if (entries.length === 0) return NOT_JOINED;
  const isSame =
    entries.length === known.joined.size && entries.every(([group, each]) => known.joined.get(group) === each);
  return isSame ? known.joined : new Map(entries);
}
