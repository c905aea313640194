/** Grants: which landed taint is paid for, and which token may be given back. */
import { beforeEach, describe, expect, test } from "vitest";
import { type Grant, Grants } from "../../services/zone/zone.grants.ts";

const S = 1000;
const grantOf = (node: string, fields: Partial<Grant> = {}): Grant => ({
  zone: "z",
  node,
  uid: `uid-${node}`,
  requestId: `request-${node}`,
  atMs: 0,
  ...fields,
});
/** The zones that got a token back. */
let returned: string[] = [];
beforeEach(() => {
  returned = [];
});
const granted = (...all: Grant[]): Grants => {
  const grants = new Grants({ perSecond: () => 1, giveBack: (zone) => returned.push(zone) });
  for (const grant of all) grants.add(grant);
  return grants;
};

describe("a taint that lands", () => {
  test("is paid for at its grant, and only once", () => {
    const grants = granted(grantOf("a"));
    expect(grants.complete(grantOf("a"), 2 * S)).toBe(true);
    expect(grants.complete(grantOf("a"), 3 * S)).toBe(false);
    expect(grants.spentAtMs("z")).toBe(0);
  });

  test("is not paid for without a grant to this node's uid", () => {
    const grants = granted(grantOf("a"));
    expect(grants.complete(grantOf("b"), 0)).toBe(false);
    expect(grants.complete(grantOf("a", { uid: "another" }), 0)).toBe(false);
  });

  test("is not the one granted a minute ago", () => {
    expect(granted(grantOf("a")).complete(grantOf("a"), 60 * S - 1)).toBe(true);
    expect(granted(grantOf("a")).complete(grantOf("a"), 60 * S)).toBe(false);
  });

  test("is not paid for once its grant has ended", () => {
    const grants = granted(grantOf("a"));
    grants.end(grantOf("a"));
    expect(grants.complete(grantOf("a"), 0)).toBe(false);
  });
});

describe("a departed node's token", () => {
  test("is given back for the last grant of its zone, once", () => {
    const grants = granted(grantOf("a"), grantOf("b", { zone: "other" }));
    grants.leave("a", 0);
    grants.leave("a", 2 * S);
    expect(returned).toEqual(["z"]);
    expect([grants.spentAtMs("z"), grants.spentAtMs("other")]).toEqual([null, 0]);
  });

  test("stays spent once its zone spends another", () => {
    granted(grantOf("a"), grantOf("b", { atMs: S })).leave("a", S);
    const grants = granted(grantOf("a"));
    grants.spend("z", S, null);
    grants.leave("a", S);
    expect(returned).toEqual([]);
    expect(grants.spentAtMs("z")).toBe(S);
  });
});

test("what a zone spent is dropped with the zone", () => {
  const grants = granted(grantOf("a"));
  grants.forgetZone("z");
  expect(grants.spentAtMs("z")).toBeNull();
});
