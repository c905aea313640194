/** The embedded API in a process of its own, with a cluster and its kubelets in it, for the benchmark that forks it. */

import { realClock } from "../../services/platform/process/clock.real.ts";
import { systemRandom } from "../../services/platform/process/random.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { ApiserverKubelets } from "./apiserver-kubelets.ts";
import { type LoadOrder, loadOptions, sendReport } from "./load.ts";

const options = loadOptions();
const api = new ApiServer({ clock: realClock(), random: systemRandom });
const kubelets = new ApiserverKubelets(api, options);
const createMicros = kubelets.fill();
if (options.heartbeats !== false) kubelets.start();
const { url } = await listen(api, { port: 0 });
sendReport({ kind: "filled", url, createMicros });
process.on("message", ({ order, selector }: LoadOrder) => {
  sendReport({ kind: "reached", nodes: kubelets.order(order, selector) });
});
process.on("disconnect", () => process.exit());
