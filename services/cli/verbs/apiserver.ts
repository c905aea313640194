/** `vigil apiserver`: serves the embedded Kubernetes API alone, for experiments and tests. */
import { realClock } from "../../platform/process/clock.real.ts";
import { systemRandom } from "../../platform/process/random.ts";
import { SERVED_API_SETTINGS, serveApi } from "../apiserver/served-api.ts";
import { defineVerb, untilStopped, type Verb } from "../verb.ts";

/** The verb that serves an empty cluster. */
export const apiserverVerb: Verb = defineVerb({
  name: "apiserver",
  summary: "serve an embedded, empty Kubernetes API in memory",
  settings: SERVED_API_SETTINGS,
  examples: [
    { command: "vigil apiserver --listen=127.0.0.1:8001", does: "serves an empty cluster until it is interrupted" },
    {
      command: "vigil apiserver --write-kubeconfig=vigil.kubeconfig",
      does: "writes the kubeconfig to a known place",
    },
  ],
  run: async (values, _words, host) => {
    // Loaded when they are wanted: no other verb but the playground needs them.
    const { ApiServer } = await import("../../sandbox/apiserver/apiserver.ts");
    const { startControllers } = await import("../../sandbox/controllers/controllers.ts");
    const clock = realClock();
    const apiserver = new ApiServer({ clock, random: systemRandom });
    const stopControllers = startControllers(apiserver, clock);
    const { front, kubeconfig } = await serveApi(apiserver, values, host);
    host.print(`the API is at ${front.url}\nkubectl --kubeconfig=${kubeconfig} get nodes\n`);
    await untilStopped(host);
    stopControllers();
    await front.close();
    return 0;
  },
});
