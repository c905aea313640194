/** Ten public incidents: Vigil does what is right. Upstream plays them too, for the table in the log of a failure. */
import { beforeAll, expect, test } from "vitest";
import { describeWithKube } from "../support/kube-assets.ts";
import { INCIDENTS } from "./catalogue.ts";
import { isRight } from "./play/judge.ts";
import { type PlayedIncident, playIncidents } from "./play/play.ts";
import { incidentTable } from "./play/report.ts";

/** Those of an outage, and those of single nodes, which share a cluster. */
const PLAYED = [
  "api-away",
  "restarted-together",
  "power-cut",
  "restored-etcd",
  "restored-etcd-restart",
  "machine-dies",
  "clock-step",
  "static-pods",
  "longer-toleration",
  "zones-move",
];
const SEED = 43;
/** Clusters of each controller at once, as many as two cores have room for beside other suites. */
const AT_ONCE = 2;
/** Three rounds of such clusters take five minutes. */
const PLAY_MS = 900_000;

describeWithKube("incidents", () => {
  let played: readonly PlayedIncident[];
  beforeAll(async () => {
    const chosen = INCIDENTS.filter(({ name }) => PLAYED.includes(name));
    played = await playIncidents(chosen, { seed: SEED, atOnce: AT_ONCE });
    console.log(incidentTable(played));
  }, PLAY_MS);

  test.each(PLAYED)("Vigil is right in %s", (name) => {
    const outcome = played.find(({ incident }) => incident.name === name)?.outcomes.vigil;
    expect(outcome).toSatisfy(isRight);
  });
}, ["kube-controller-manager"]);
