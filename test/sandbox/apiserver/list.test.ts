/** Lists on the embedded API: pages of one state, and selectors. */
import { describe, expect, test } from "vitest";
import { Embedded, namesIn, node, PODS, pod } from "./embedded.ts";

const NODES = "/api/v1/nodes";

function withNodes(...names: string[]): Embedded {
  const embedded = new Embedded();
  for (const name of names) embedded.ask("POST", NODES, node(name, { first: name.slice(0, 1) }));
  return embedded;
}

describe("pages", () => {
  test("show one state, with any writes between them", () => {
    const embedded = withNodes("a", "b", "c", "d", "e");
    const first = embedded.ask("GET", `${NODES}?limit=2`);
    embedded.ask("DELETE", `${NODES}/d`);
    embedded.ask("POST", NODES, node("bb"));
    const second = embedded.ask("GET", `${NODES}?limit=2&continue=${String(first.object.metadata.continue)}`);
    const third = embedded.ask("GET", `${NODES}?limit=2&continue=${String(second.object.metadata.continue)}`);
    expect([first, second, third].map(namesIn)).toEqual([["a", "b"], ["c", "d"], ["e"]]);
    expect([first, second, third].map(({ object }) => object.metadata.remainingItemCount)).toEqual([3, 1, undefined]);
    const versions = [first, second, third].map(({ object }) => object.metadata.resourceVersion);
    expect(new Set(versions).size).toBe(1);
    expect(third.object.metadata.continue).toBeUndefined();
  });

  test("are not cut when everything fits, or when the list may come from a cache", () => {
    const embedded = withNodes("a", "b");
    expect(embedded.ask("GET", `${NODES}?limit=2`).object.metadata.continue).toBeUndefined();
    expect(namesIn(embedded.ask("GET", `${NODES}?limit=1&resourceVersion=0`))).toEqual(["a", "b"]);
  });

  test("end when too many lists were begun after theirs", () => {
    const embedded = withNodes("a", "b");
    const first = embedded.ask("GET", `${NODES}?limit=1`);
    for (let more = 0; more < 8; more++) embedded.ask("GET", `${NODES}?limit=1`);
    const token = String(first.object.metadata.continue);
    expect(embedded.ask("GET", `${NODES}?limit=1&continue=${token}`).status).toBe(410);
  });
});

test.each([
  ["limit=x", 400, "BadRequest"],
  ["continue=x&limit=1", 400, "BadRequest"],
  ["resourceVersion=x", 400, "BadRequest"],
  ["resourceVersion=999999", 504, "Timeout"],
  ["fieldSelector=spec.nodeName%3Dx", 400, "BadRequest"],
  ["labelSelector=a%20b", 400, "BadRequest"],
])("a list with %s is refused with %i", (query, status, reason) => {
  const answer = new Embedded().ask("GET", `${NODES}?${query}`);
  expect(answer.status).toBe(status);
  expect(answer.object.reason).toBe(reason);
});

describe("selectors", () => {
  test("find objects by label and by name", () => {
    const embedded = withNodes("a1", "a2", "b1");
    expect(namesIn(embedded.ask("GET", `${NODES}?labelSelector=first%3Da`))).toEqual(["a1", "a2"]);
    expect(namesIn(embedded.ask("GET", `${NODES}?fieldSelector=metadata.name%3Db1`))).toEqual(["b1"]);
    expect(namesIn(embedded.ask("GET", `${NODES}?fieldSelector=metadata.name!%3Db1`))).toEqual(["a1", "a2"]);
    expect(namesIn(embedded.ask("GET", `${NODES}?fieldSelector=metadata.name%3Dnone`))).toEqual([]);
  });

  test("find a node's pods in every namespace, with or without more terms", () => {
    const embedded = new Embedded();
    embedded.ask("POST", PODS, pod("p", "n"));
    embedded.ask("POST", PODS, pod("q", "n"));
    embedded.ask("POST", PODS, pod("free"));
    embedded.ask("POST", "/api/v1/namespaces/kube-system/pods", pod("r", "n"));
    embedded.ask("PATCH", `${PODS}/q/status`, { status: { phase: "Failed" } }, "merge");
    const found = (path: string, selector: string): string[] =>
      namesIn(embedded.ask("GET", `${path}?fieldSelector=${encodeURIComponent(selector)}`));
    expect(found("/api/v1/pods", "spec.nodeName=n")).toEqual(["p", "q", "r"]);
    expect(found(PODS, "spec.nodeName=n")).toEqual(["p", "q"]);
    expect(found("/api/v1/pods", "spec.nodeName=n,status.phase!=Failed")).toEqual(["p", "r"]);
    expect(found("/api/v1/pods", "spec.nodeName=")).toEqual(["free"]);
    expect(found("/api/v1/pods", "spec.nodeName!=,metadata.namespace=kube-system")).toEqual(["r"]);
  });

  test("find namespaces by phase, which only their JSON has", () => {
    const embedded = new Embedded();
    embedded.ask("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
    embedded.ask("DELETE", "/api/v1/namespaces/x");
    const terminating = embedded.ask("GET", "/api/v1/namespaces?fieldSelector=status.phase%3DTerminating");
    expect(namesIn(terminating)).toEqual(["x"]);
  });
});

test("a deletecollection deletes what it selects", () => {
  const embedded = withNodes("a1", "a2", "b1");
  expect(embedded.ask("DELETE", `${NODES}?labelSelector=first%3Da`).status).toBe(200);
  expect(namesIn(embedded.ask("GET", NODES))).toEqual(["b1"]);
});
