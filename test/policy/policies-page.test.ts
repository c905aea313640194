/** docs/policies.md: its examples are policies. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { checkSpec } from "../../services/domain/node-policy.parse.ts";
import { parseRun } from "../../services/platform/config/config.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/policies.md"), "utf8");
const BLOCKS = [...PAGE.matchAll(/```yaml\n([^`]*)```/g)].map(([, text = ""]) => text);
const OBJECTS = BLOCKS.map((text) => parse(text)).filter(({ kind }) => kind === "NodePolicy");

describe("the page of node policies", () => {
  test("has five examples beside the first", () => expect(OBJECTS).toHaveLength(6));

  test.each(OBJECTS.map((object) => [object.metadata.name, object] as const))("example %s is right", (_, object) => {
    expect(object).toMatchObject({ apiVersion: "vigil.io/v1alpha1", metadata: { name: expect.any(String) } });
    expect(checkSpec(object.spec).problems).toEqual([]);
  });

  test("has a configuration file that is accepted", () => {
    const file = BLOCKS.find((text) => text.startsWith("policies:")) ?? "";
    expect(parseRun(["--config=v.yaml"], () => file).config.policies).toHaveLength(1);
  });
});
