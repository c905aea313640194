/** A playground refuses what a cluster refuses of a NodePolicy. */
import { expect, test } from "vitest";
import { policyDefinition } from "../../../services/cli/playground/policy-definition.ts";
import { Embedded } from "../../sandbox/apiserver/embedded.ts";

test("a field that no NodePolicy has is refused by strict clients, as kubectl is", () => {
  const embedded = new Embedded();
  embedded.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", policyDefinition());
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
