/** The contract of a foreign client, on the embedded API through its HTTP front. */
import { describe } from "vitest";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { seededRandom } from "../support/random.seeded.ts";
import { clientNodeContract } from "./kube.client-node.ts";

describe("@kubernetes/client-node on the embedded API", () => {
  clientNodeContract(async () => {
    const front = await listen(new ApiServer({ clock: realClock(), random: seededRandom(1) }), { port: 0 });
    // Without TLS the client talks only to a server whose certificate it need not verify.
    const cluster = { server: front.url, "insecure-skip-tls-verify": true };
    const config = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster }],
      users: [{ name: "u", user: {} }],
    };
    return { kubeconfig: JSON.stringify(config), stop: () => front.close() };
  });
});
