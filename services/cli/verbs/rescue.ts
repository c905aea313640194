/**
 * `vigil rescue`: replaces Vigil's pods when all of them were lost with nodes that no controller deletes. A CronJob may
 * run it.
 */
import { durationSetting, switchSetting, textSetting } from "../../platform/config/setting-builders.ts";
import { KUBE_SETTINGS, LOG_SETTINGS } from "../../platform/config/settings.ts";
import { withApi } from "../connect/api-connection.ts";
import { rescue } from "../rescue/rescue.ts";
import { defineVerb, type Verb } from "../verb.ts";

/** Two periods in which a kubelet renews its lease. */
const OBSERVE_MS_MIN = 20_000;

const SETTINGS = {
  namespace: textSetting("namespace", "vigil-system", "The namespace that Vigil runs in.", "vigil-system"),
  selector: textSetting(
    "selector",
    "app.kubernetes.io/name=vigil",
    "The labels of Vigil's own pods; no other pod is deleted.",
    "app.kubernetes.io/name=vigil",
  ),
  silentForMs: durationSetting(
    "silent-for",
    120_000,
    "How old the last renewal of a node's lease is, by the API server's clock, before its pods count as lost. It should be " +
      "longer than --node-monitor-grace-period of vigil run plus the 30 s for which its pods stay on a lost node.",
  ),
  observeMs: durationSetting(
    "observe",
    40_000,
    "For how long the leases are watched before anything is deleted: a renewal shows that a node is alive, however wrong " +
      "its clock is.",
    OBSERVE_MS_MIN,
  ),
  dryRun: switchSetting("dry-run", false, "Print what would be deleted, and delete nothing."),
  ...KUBE_SETTINGS,
  ...LOG_SETTINGS,
} as const;

/** The verb that deletes Vigil's own pods where all of them are on silent nodes. */
export const rescueVerb: Verb = defineVerb({
  name: "rescue",
  summary: "delete Vigil's own pods where all of them were lost with their nodes, so that new ones start",
  settings: SETTINGS,
  examples: [
    { command: "vigil rescue --dry-run", does: "says whether Vigil may be alive, and what would be deleted if not" },
    { command: "vigil rescue", does: "deletes without force; does nothing while a process may be alive" },
  ],
  run: (values, _words, host) =>
    // It has no right to list nodes.
    withApi({ ...values, services: [] }, host, (connection) => rescue({ ...connection, host }, values)),
});
