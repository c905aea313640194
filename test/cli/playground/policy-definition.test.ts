/** The playground serves policies as a cluster does, so `kubectl explain nodepolicies.spec` names every field. */
import { expect, test } from "vitest";
import { nodePolicyDefinition } from "../../../deploy/crd/node-policy-crd.ts";
import { startPlayground } from "../../../services/cli/playground/playground-cluster.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { VirtualClock } from "../../../services/sandbox/virtual/virtual-clock.ts";

test("a NodePolicy can be explained in the playground, with the schema for clusters", () => {
  const clock = new VirtualClock({ wallMs: Date.UTC(2026, 0, 1) });
  const { apiserver, stop } = startPlayground({ clock, random: () => 0.5, log: silentLog });
  clock.advance(100);
  const path = "/openapi/v3/apis/vigil.io/v1alpha1";
  const { body } = apiserver.answerTo({ method: "GET", path, headers: {}, body: null });
  const { components } = JSON.parse(body as string);
  const defined = nodePolicyDefinition() as { spec: { versions: [{ schema: { openAPIV3Schema: Explained } }] } };
  const explained = components.schemas["io.vigil.v1alpha1.NodePolicy"] as Explained;
  expect(explained.properties.spec).toEqual(defined.spec.versions[0].schema.openAPIV3Schema.properties.spec);
  stop();
});

interface Explained {
  readonly properties: Readonly<Record<string, unknown>>;
}
