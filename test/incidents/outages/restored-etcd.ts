/**
 * etcd is restored from a backup of two hours ago, in which a node that has long been well carries the taints of an
 * illness. All resourceVersions go back.
 */
import { between, type Incident, type Step } from "../incident.ts";

const BACKUP_SECONDS = between(3_600, 10_000);
const TO_THE_BACKUP: readonly Step[] = [
  { after: between(0, 2), silence: ["ill"] },
  { untilTainted: ["ill"] },
  { backUp: "etcd" },
  { recover: ["ill"] },
  { untilWell: ["ill"] },
  { writeOn: ["well"] },
  // Watches of nodes come to the end of the lost versions too.
  { post: ["ill", "well"] },
];
const AFTER_IT: readonly Step[] = [
  { after: 1, renew: ["ill", "well"] },
  { after: between(5, 8), post: ["ill", "well"] },
  { untilWell: ["ill"] },
  { after: 8, observe: "all" },
];
const SHARED = {
  groups: { ill: { nodes: 1, pod: { toleratesLoss: 40 } }, well: { nodes: between(15, 22) } },
  right: { ill: { pods: "stay", unknown: "once" }, well: { unknown: "never" } },
} as const;

/** The controller runs on, with watches at resourceVersions that were lost. */
export const RESTORED_ETCD: Incident = {
  ...SHARED,
  name: "restored-etcd",
  title: "etcd restored, controller runs on",
  reports: ["kubernetes#131115", "etcd-io/etcd#14303"],
  seen: "After a restore, controllers saw no change for hours and went on with objects that no longer existed.",
  timeline: [
    ...TO_THE_BACKUP,
    { silence: ["well", "ill"], restore: BACKUP_SECONDS },
    { start: ["API server"] },
    ...AFTER_IT,
  ],
  because:
    "Versions that go back mean that everything has to be read again; old taints count from no earlier than that.",
};

/** The controller starts with the restored etcd. */
export const RESTORED_ETCD_RESTART: Incident = {
  ...SHARED,
  name: "restored-etcd-restart",
  title: "etcd restored, controller restarts",
  reports: ["kubernetes#131115", "charmed-kubernetes/bundle#582"],
  seen: "A restored node carried a taint of long ago, whose countdown had seemingly ended.",
  timeline: [
    ...TO_THE_BACKUP,
    { kill: ["controller"], silence: ["well", "ill"], restore: BACKUP_SECONDS },
    { start: ["controller", "API server"] },
    ...AFTER_IT,
  ],
  because: "A taint in a backup says nothing about now: the node gets a whole grace to be heard.",
};
