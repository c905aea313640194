/** A member of a fleet on the embedded API loses its connection to it, while its NATS works. */
import { describeWithNats } from "../support/nats-programs.ts";
import { apiCutJourney } from "./fleet-api-cut.ts";
import { EmbeddedFleetApi } from "./fleet-apis.ts";

describeWithNats("a fleet of three processes, each with a connection of its own to the embedded API", () => {
  apiCutJourney(new EmbeddedFleetApi(), 150);
});
