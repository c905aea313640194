/** API servers on which journeys have NodePolicy objects: the embedded one, and a real kube-apiserver. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { parse } from "yaml";
import { type CustomResource, Urgency } from "../../protocols/ports.ts";
import { kubeconfigOf } from "../../services/cli/apiserver/served-api.ts";
import { httpsWire } from "../../services/platform/kube/transport/https.ts";
import { realClock } from "../../services/platform/process/clock.real.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { listen } from "../../services/sandbox/apiserver/http/http-front.ts";
import { startKubeApiserver } from "../support/kube-apiserver.ts";
import { customResourcesBroken, describeWithKube } from "../support/kube-assets.ts";
import { write } from "../support/kube-probe.ts";
import { freePort } from "../support/nats-server.ts";
import { seededRandom } from "../support/random.seeded.ts";
import type { Stage, StageServer } from "../support/stage.ts";

/** The resource of the definitions of custom resources. */
export const DEFINITION_RESOURCE = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
};
const POLICIES = { group: "vigil.io", version: "v1alpha1", plural: "nodepolicies" };
const CRD = join(import.meta.dirname, "../../deploy/crd/nodepolicies.yaml");

/** Registers a journey on the embedded API, and on a kube-apiserver if that can serve custom resources. */
export function describeWithPolicies(title: string, journey: (open: () => Promise<StageServer>) => void): void {
  describe(`${title} on the embedded API`, () => journey(embeddedServer));
  // A server that crashes at custom resources is no place for it: test/contract/kube.real.test.ts says which.
  if (customResourcesBroken() !== null) return;
  describeWithKube(`${title} on a real kube-apiserver`, () => journey(() => startKubeApiserver()));
}

/** The embedded API as the server of a stage, which has no kubectl. */
export async function embeddedServer(): Promise<StageServer> {
  const folder = mkdtempSync(join(tmpdir(), "vigil-embedded-"));
  const kubeconfig = join(folder, "kubeconfig");
  const apiserver = new ApiServer({ clock: realClock(), random: seededRandom(1) });
  const front = await listen(apiserver, { port: await freePort() });
  writeFileSync(kubeconfig, kubeconfigOf("vigil", front.url));
  return {
    kubeconfig,
    wire: () => httpsWire({ server: front.url, authorize: () => Promise.resolve({ headers: {}, tls: {} }) }),
    kubectl: () => Promise.reject(new Error("the embedded API has no kubectl")),
    stop: async () => {
      await front.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Creates a custom object. */
export async function createCustom(
  { kube }: Stage,
  resource: CustomResource,
  object: {
    readonly metadata: { readonly name: string; readonly namespace?: string };
    readonly [field: string]: unknown;
  },
): Promise<void> {
  const { name, namespace = "" } = object.metadata;
  const ref = { kind: "CustomResource", namespace, name, resource } as const;
  const reply = await write(kube, { verb: "create", ref, urgency: Urgency.healing, body: object });
  if (reply.outcome !== "ok") throw new Error(reply.detail);
}

/** Installs the definition of NodePolicy. */
export function definePolicies(stage: Stage): Promise<void> {
  return createCustom(stage, DEFINITION_RESOURCE, parse(readFileSync(CRD, "utf8")));
}

/** Creates a NodePolicy, as `kubectl apply` does. */
export function putPolicy(stage: Stage, name: string, spec: object): Promise<void> {
  return createCustom(stage, POLICIES, {
    apiVersion: "vigil.io/v1alpha1",
    kind: "NodePolicy",
    metadata: { name },
    spec,
  });
}
