/** The contract of a foreign client, on a real kube-apiserver. */
import { readFileSync } from "node:fs";
import { startKubeApiserver } from "../support/kube-apiserver.ts";
import { describeWithKube } from "../support/kube-assets.ts";
import { clientNodeContract } from "./kube.client-node.ts";

describeWithKube("@kubernetes/client-node on a real kube-apiserver", () => {
  clientNodeContract(async () => {
    const server = await startKubeApiserver();
    return { kubeconfig: readFileSync(server.kubeconfig, "utf8"), stop: () => server.stop() };
  });
});
