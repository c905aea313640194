/** A member of a fleet on a real kube-apiserver loses its connection to it, while its NATS works. */
import { describeWithKube } from "../support/kube-assets.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { apiCutJourney } from "./fleet-api-cut.ts";
import { RealFleetApi } from "./fleet-apis.ts";

describeWithKube("on a real kube-apiserver,", () => {
  describeWithNats("a fleet of three processes, each with a connection of its own to it", () => {
    apiCutJourney(new RealFleetApi(), 100);
  });
});
