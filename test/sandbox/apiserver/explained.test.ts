/** What `kubectl explain` reads of built-in kinds: complete, and no more than the embedded API knows. */
import { describe, expect, test } from "vitest";
import { isObject, type JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { DEFINITIONS } from "../../../services/sandbox/apiserver/explained/built-in-kinds.ts";
import { apiVersionOf, BUILT_IN_RESOURCES } from "../../../services/sandbox/apiserver/resources.ts";
import type { Shape } from "../../../services/sandbox/apiserver/views/canonical.ts";
import { shapeOf } from "../../../services/sandbox/apiserver/views/object-shapes.ts";
import { Embedded } from "./embedded.ts";

/** The definition to which a field refers, itself or by its items. */
function definitionOf(field: unknown): JsonObject {
  const [, name = ""] = /#\/components\/schemas\/(\w+)/.exec(JSON.stringify(field ?? "")) ?? [];
  return DEFINITIONS[name] ?? {};
}

/** The paths of fields that a shape writes and a definition does not describe. */
function missing(shape: Shape, definition: JsonObject, at: string): string[] {
  const described = isObject(definition.properties) ? definition.properties : {};
  const written = [...(shape.order ?? []), ...Object.keys(shape.types ?? {}), ...Object.keys(shape.always ?? {})];
  return [
    ...[...new Set(written)].filter((field) => described[field] === undefined).map((field) => `${at}.${field}`),
    ...Object.entries(shape.fields ?? {}).flatMap(([field, inner]) => {
      const next = definitionOf(described[field]);
      return next.properties === undefined ? [] : missing(inner, next, `${at}.${field}`);
    }),
  ];
}

describe.each(BUILT_IN_RESOURCES)("$plural of $version", (resource) => {
  const apiVersion = apiVersionOf(resource);
  const path = apiVersion === "v1" ? "api/v1" : `apis/${apiVersion}`;
  const { components } = new Embedded().ask("GET", `/openapi/v3/${path}`).object;
  const { schemas } = components as { schemas: Record<string, JsonObject> };

  test("are described by their kind", () => {
    const { group, version, kind } = resource;
    expect(schemas[kind]).toMatchObject({
      type: "object",
      description: expect.stringMatching(/^[A-Z].*\.$/),
      "x-kubernetes-group-version-kind": [{ group, version, kind }],
    });
  });

  test("have every field described that the server writes", () => {
    const statusOfNone = resource.hasStatus ? "" : `${resource.kind}.status`;
    const undescribed = missing(shapeOf(resource), DEFINITIONS[resource.kind] ?? {}, resource.kind);
    expect(undescribed.filter((field) => field !== statusOfNone)).toEqual([]);
  });

  test("refer to definitions of the same document alone", () => {
    const names = JSON.stringify(components).matchAll(/#\/components\/schemas\/(\w+)/g);
    expect([...names].map(([, name = ""]) => name).filter((name) => !(name in schemas))).toEqual([]);
  });
});

test("every description is a sentence", () => {
  const texts = [...JSON.stringify(DEFINITIONS).matchAll(/"description":"([^"]*)"/g)].map(([, text = ""]) => text);
  expect(texts.filter((text) => !/^[A-Z`].*\.$/.test(text))).toEqual([]);
  expect(texts.length).toBeGreaterThan(200);
});
