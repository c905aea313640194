/** The definition of NodePolicy as clusters get it: the embedded API of a playground refuses what they refuse. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { ApiObject } from "../../sandbox/apiserver/api-objects.ts";

/** A checkout, the image and the npm package have it at the same place. */
const FILE = new URL("../../../deploy/crd/nodepolicies.yaml", import.meta.url);

/** The CustomResourceDefinition. Throws if an installation lacks the file. */
export function policyDefinition(): ApiObject {
  return parse(readFileSync(FILE, "utf8"));
}
