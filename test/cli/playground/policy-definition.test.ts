/** The playground serves policies as a cluster does: it refuses what that refuses, and every field can be explained. */
import { expect, test } from "vitest";
import { nodePolicyDefinition } from "../../../deploy/crd/node-policy-crd.ts";
import { startPlayground } from "../../../services/cli/playground/playground-cluster.ts";
import { silentLog } from "../../../services/platform/process/log.ts";
import { VirtualClock } from "../../../services/sandbox/virtual/virtual-clock.ts";
import { Embedded } from "../../sandbox/apiserver/embedded.ts";

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

test("a field that no NodePolicy has is refused by strict clients, as kubectl is", () => {
  const embedded = new Embedded();
  embedded.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", nodePolicyDefinition());
  const path = "/apis/vigil.io/v1alpha1/nodepolicies?fieldValidation=Strict";
  const policy = (spec: object) => {
    const selector = { matchLabels: { pool: "gpu" } };
    const head = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "gpu" } };
    return embedded.ask("POST", path, { ...head, spec: { selector, ...spec } });
  };
  expect(policy({ bogus: 1 })).toMatchObject({ status: 400, text: expect.stringContaining("bogus") });
  expect(policy({ nodeMonitorGracePeriod: 20 })).toMatchObject({ status: 422 });
  expect(policy({ nodeMonitorGracePeriod: "20s" })).toMatchObject({ status: 201 });
});

interface Explained {
  readonly properties: Readonly<Record<string, unknown>>;
}
