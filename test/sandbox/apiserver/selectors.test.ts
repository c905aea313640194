/** Selectors: their syntax, and which values they select. */
import { describe, expect, test } from "vitest";
import { selects } from "../../../services/domain/node-policy.ts";
import { demanded, fieldSelector, labelSelector } from "../../../services/sandbox/apiserver/store/selectors.ts";

describe("a label selector", () => {
  const labels = { app: "web", tier: "" };

  test.each([
    ["", true],
    ["app=web", true],
    ["app==web", true],
    ["app = web", true],
    ["app=db", false],
    ["app!=db", true],
    ["app!=web", false],
    ["missing!=x", true],
    ["app", true],
    ["missing", false],
    ["!missing", true],
    ["!app", false],
    ["app in (db, web)", true],
    ["app in (db)", false],
    ["app notin (db)", true],
    ["missing notin (db)", true],
    ["app in (db,web),tier=", true],
    ["app=web,tier=x", false],
    ["tier=", true],
  ])("%j selects: %j", (text, expected) => {
    expect(selects(labelSelector(text), labels)).toBe(expected);
  });

  test.each(["a b", "=x", "a=b=c", "/x", "a in x", "size>9"])("%j is refused", (text) => {
    expect(() => labelSelector(text)).toThrow(/unable to parse requirement/);
  });
});

describe("a field selector", () => {
  const fields = { "spec.nodeName": "n-1", "status.phase": "Running" };

  test.each([
    ["spec.nodeName=n-1", true],
    ["spec.nodeName==n-1,status.phase=Running", true],
    ["status.phase!=Running", false],
    ["status.phase!=Failed", true],
    ["spec.nodeName=", false],
    ["spec.nodeName!=", true],
  ])("%j selects: %j", (text, expected) => {
    expect(selects(fieldSelector(text), fields)).toBe(expected);
  });

  test("escaped characters stand for themselves", () => {
    expect(selects(fieldSelector("a=x\\=y\\\\"), { a: "x=y\\" })).toBe(true);
  });

  test("a term without an operator is refused", () => {
    expect(() => fieldSelector("spec.nodeName")).toThrow("invalid selector: 'spec.nodeName'");
  });

  test("it requires a value only where it leaves no choice", () => {
    expect(demanded(fieldSelector("a=1,b!=2"), "a")).toBe("1");
    expect(demanded(fieldSelector("a=1,b!=2"), "b")).toBeNull();
    expect(demanded(labelSelector("a in (1,2)"), "a")).toBeNull();
  });
});
