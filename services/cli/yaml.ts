/** Documents in YAML as kubectl and its kin read them. */
import { stringify } from "yaml";

/** A value as one document. Texts that older readers take for something else, such as `no` or `on`, are quoted. */
export function yamlText(value: unknown): string {
  return stringify(value, { compat: "yaml-1.1", lineWidth: 0 });
}
