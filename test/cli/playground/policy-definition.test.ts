/** The playground's definition of policies names them as the one for clusters does. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { POLICY_DEFINITION } from "../../../services/sandbox/playground/policy.ts";

test("policies have the same names and version as in a cluster", () => {
  const file = join(import.meta.dirname, "../../../deploy/crd/nodepolicies.yaml");
  const { metadata, spec } = parse(readFileSync(file, "utf8"));
  expect(POLICY_DEFINITION.metadata.name).toBe(metadata.name);
  expect(spec).toMatchObject({
    group: POLICY_DEFINITION.spec.group,
    scope: POLICY_DEFINITION.spec.scope,
    names: POLICY_DEFINITION.spec.names,
    versions: [{ name: POLICY_DEFINITION.spec.versions[0]?.name, subresources: { status: {} } }],
  });
});
