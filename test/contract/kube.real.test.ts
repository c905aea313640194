/** The contract of the Kubernetes API, on a real kube-apiserver. */
import { describe } from "vitest";
import { startKubeApiserver } from "../support/kube-apiserver.ts";
import { customResourcesBroken, describeWithKube } from "../support/kube-assets.ts";
import { addressContract, kubeContract } from "./kube.contract.ts";
import { formsContract } from "./kube.forms.ts";

describeWithKube("the real kube-apiserver", () => {
  kubeContract(
    async () => {
      const server = await startKubeApiserver();
      return {
        wire: server.wire(),
        wireWith: (token: string) => server.wire({ token }),
        compact: () => server.compact(),
        kubectl: (...args: string[]) => server.kubectl(...args),
        stop: () => server.stop(),
      };
    },
    (server) => {
      addressContract(server);
      describe("forms", () => formsContract(server));
    },
    customResourcesBroken(),
  );
});
