/** docs/asyncapi.yaml: it is current and valid, and its schemas accept what is sent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import specification from "@asyncapi/specs/schemas/3.0.0.json" with { type: "json" };
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { asyncApi, asyncApiText } from "./asyncapi.ts";
import { readGolden } from "./golden.ts";

const TEXT = readFileSync(join(import.meta.dirname, "../../docs/asyncapi.yaml"), "utf8");
const DOCUMENT = parse(TEXT);

/** The problems that the schema of the AsyncAPI specification finds in a document. */
function problemsOf(document: unknown): unknown[] {
  // The specification's schema brings its own copy of draft 7.
  const ajv = new Ajv({ meta: false, strict: false, allErrors: true, validateFormats: false });
  const validate = ajv.compile(specification);
  return validate(document) ? [] : (validate.errors ?? []).map(({ instancePath, message }) => [instancePath, message]);
}

/** The values that a document refers to and does not have. */
function danglingIn(document: unknown): string[] {
  const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = ""]) => path);
  const valueAt = (path: string) => path.split("/").reduce((value, key) => Object(value)[key], document);
  return refs.filter((path) => valueAt(path) === undefined);
}

test("docs/asyncapi.yaml follows the schemas; npm run fix writes it", () => {
  expect(TEXT).toBe(asyncApiText(packageJson.version));
  expect(DOCUMENT).toEqual(asyncApi(packageJson.version));
});

test("it is valid AsyncAPI 3, by the specification's own schema", () => {
  expect(problemsOf(DOCUMENT)).toEqual([]);
  expect(danglingIn(DOCUMENT)).toEqual([]);
});

test("that schema finds a mistake", () => {
  const operations = { broken: { action: "shout", channel: { $ref: "#/channels/nowhere" } } };
  expect(problemsOf({ ...DOCUMENT, operations })).not.toEqual([]);
  expect(danglingIn({ ...DOCUMENT, operations })).toEqual(["channels/nowhere"]);
});

test.each(readGolden())("the golden $frame.type on $subject is as it says", ({ frame }) => {
  const { payload } = DOCUMENT.components.messages[frame.type];
  const validate = new Ajv({ strict: false }).compile(payload);
  validate(frame);
  expect(validate.errors).toBeNull();
  expect(validate({ ...frame, body: {} })).toBe(false);
});
