/** The definition of the custom resource in a run with node policies. */
import type { ApiObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { storedAs } from "../../../services/sandbox/apiserver/resources.ts";
import type { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";

/** The definition of the resource without a schema, so that wrong fields reach Vigil. */
const DEFINITION: ApiObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: POLICIES_STORAGE },
  spec: {
    group: "vigil.io",
    scope: "Cluster",
    names: { plural: "nodepolicies", singular: "nodepolicy", kind: "NodePolicy", listKind: "NodePolicyList" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

/** Serves the resource in a world. */
export function definePolicies(world: World): void {
  world.asWorld(() =>
    world.api.registry.create(storedAs("customresourcedefinitions"), "", structuredClone(DEFINITION)),
  );
}
