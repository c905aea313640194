/** The labels that Vigil sets: deprecated names, which follow the current ones (R4.27). */
import { FOLLOWING_LABELS } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";

type Labels = Readonly<Record<string, string>>;

const LABELS: ReadonlySet<string> = new Set(FOLLOWING_LABELS.map(([, follower]) => follower));

/** Why no service of Vigil sets these labels; null if one may. */
export function allowsLabels(labels: Labels): string | null {
  const label = Object.keys(labels).find((key) => !LABELS.has(key));
  return label === undefined ? null : `label ${label} is not one that Vigil sets`;
}

/** Why the live node does not require these labels; null if it does. */
export function foundedLabels(labels: Labels, live: Pick<ObservedNode, "labels">): string | null {
  const isFollowing = ([label, value]: readonly [string, string]): boolean =>
    FOLLOWING_LABELS.some(([truth, follower]) => follower === label && live.labels[truth] === value);
  const differing = Object.entries(labels).find((entry) => !isFollowing(entry));
  return differing === undefined ? null : `label ${differing[0]} does not follow its current name`;
}
