/** JSONPath templates of `vigil get -o jsonpath=…`, with the forms that kubectl's documentation shows. */
import { expect, test } from "vitest";
import { jsonPathTemplate } from "../../../services/cli/get/jsonpath.ts";

const items = [
  { name: "n-1", readiness: "ready", heartbeatAt: null, taint: { key: "a.b/c", effect: "NoExecute" }, queuePlace: 2 },
  { name: "n-2", readiness: "unknown", heartbeatAt: "2026-11-20T12:00:00.000Z", queuePlace: 10 },
];
const LIST = { kind: "List", items };

test.each([
  ["{.items[*].name}", "n-1 n-2"],
  ["{.items[*].name}", "n-1 n-2"],
  ["{$.items[0].name}", "n-1"],
  ["{.items[-1].name}", "n-2"],
  ["{.items[0:1].name}", "n-1"],
  ["{.items[0]['name']}", "n-1"],
  ["{..effect}", "NoExecute"],
  ["{.items[0].taint}", '{"key":"a.b/c","effect":"NoExecute"}'],
  ["{.items[0].taint.*}", "a.b/c NoExecute"],
  ["{.items[0].missing.deeper}", ""],
  ["{.items[0].heartbeatAt}", "null"],
  ['{.items[?(@.readiness=="unknown")].name}', "n-2"],
  ["{.items[?(@.readiness!='unknown')].name}", "n-1"],
  ["{.items[?(@.queuePlace>2)].name}", "n-2"],
  ["{.items[?(@.queuePlace <= 2)].name}", "n-1"],
  ["{.items[?(@.heartbeatAt)].name}", "n-2"],
  ['{range .items[*]}{.name}{"\\t"}{@.readiness}{"\\n"}{end}', "n-1\tready\nn-2\tunknown\n"],
  ["names: {.items[*].name}.", "names: n-1 n-2."],
  ["{range .items[*]}{range .taint}{.key}{end}{end}", "a.b/c"],
  ["{'it''s'}", "it''s"],
])("%s prints %j", (template, text) => {
  expect(jsonPathTemplate(template)(LIST)).toBe(text);
});

test("a single object is the root", () => {
  expect(jsonPathTemplate("{.name} {@.readiness} {$.queuePlace}")(items[0])).toBe("n-1 ready 2");
});

test.each(["{.name", "}", "{range .items[*]}{.name}", "{.name}{end}", "{.items[?(readiness)].name}", '{"\\x"}'])(
  "%s is refused with an example",
  (template) => {
    expect(() => jsonPathTemplate(template)).toThrow(/^-o jsonpath=.* is not understood; write it as \{range/);
  },
);
