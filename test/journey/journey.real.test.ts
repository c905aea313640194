/** The journey on a real kube-apiserver, on both buses. */
import { describeWithKube } from "../support/kube-assets.ts";
import { describeWithNats } from "../support/nats-programs.ts";
import { journey } from "./journey.ts";
import { memoryBus, natsBus, realApi } from "./worlds.ts";

describeWithKube("on a real kube-apiserver and the memory bus", () =>
  journey(realApi, memoryBus, { hasBusServer: false }),
);

describeWithKube("on a real kube-apiserver", () => {
  describeWithNats("and nats-server", () => journey(realApi, natsBus, { hasBusServer: true }));
});
