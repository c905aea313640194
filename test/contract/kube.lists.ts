/** The contract's part about lists: pages, selectors and list metadata. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../protocols/ports.ts";
import { nodeNamed, nodePath, podNamed, type RawAnswer, type RawClient } from "./kube.provided.ts";

const PODS = "/api/v1/namespaces/default/pods";

/** Registers the tests; `compact` makes the server forget its history. */
export function listsContract(client: () => RawClient, compact: () => Promise<void>): void {
  const labelled = (name: string, labels: Record<string, string>): Promise<RawAnswer> =>
    client().post("/api/v1/nodes", nodeNamed(name, { metadata: { name, labels } }));

  test("a list has its kind, a resourceVersion and items without kind, by name", async () => {
    await labelled("l-b", { list: "plain" });
    await labelled("l-a", { list: "plain" });
    const { status, object } = await client().get("/api/v1/nodes?labelSelector=list%3Dplain");
    expect(status).toBe(200);
    expect(object).toMatchObject({
      kind: "NodeList",
      apiVersion: "v1",
      metadata: { resourceVersion: expect.any(String) },
    });
    expect(names(object)).toEqual(["l-a", "l-b"]);
    expect(items(object)[0]).not.toHaveProperty("kind");
  });

  test("limit and continue give pages of one state, with the number that remains", async () => {
    for (const name of ["l-1", "l-2", "l-3", "l-4", "l-5"]) {
      await client().post(PODS, {
        ...podNamed(name),
        metadata: { name, namespace: "default", labels: { list: "paged" } },
      });
    }
    const first = (await client().get(`${PODS}?limit=2`)).object;
    const [one, two] = names(first);
    await client().delete(`${PODS}/l-5`, { gracePeriodSeconds: 0 });
    const seen = [one, two];
    let page = first;
    for (let token = page.metadata.continue; typeof token === "string"; token = page.metadata.continue) {
      page = (await client().get(`${PODS}?limit=2&continue=${encodeURIComponent(token)}`)).object;
      expect(page.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
      seen.push(...names(page));
    }
    expect(seen.filter((name) => name?.startsWith("l-"))).toEqual(["l-1", "l-2", "l-3", "l-4", "l-5"]);
    expect(first.metadata.remainingItemCount).toBe(seen.length - 2);
    expect(page.metadata).not.toHaveProperty("remainingItemCount");
  });

  test("pages under a selector give everything once, and come to an end", async () => {
    await labelled("l-exact-1", { list: "exact" });
    await labelled("l-exact-2", { list: "exact" });
    const path = "/api/v1/nodes?labelSelector=list%3Dexact&limit=2";
    const first = (await client().get(path)).object;
    expect(names(first)).toEqual(["l-exact-1", "l-exact-2"]);
    // A full page may announce another one, which is then empty.
    const token = typeof first.metadata.continue === "string" ? first.metadata.continue : "";
    const next = token === "" ? null : (await client().get(`${path}&continue=${encodeURIComponent(token)}`)).object;
    expect(next === null ? [] : names(next)).toEqual([]);
    expect(next?.metadata.continue ?? "").toBe("");
  });

  test("label selectors support equality, sets and existence", async () => {
    await labelled("l-x", { app: "x", list: "labels" });
    await labelled("l-y", { app: "y", list: "labels" });
    await labelled("l-z", { list: "labels" });
    const found = async (selector: string): Promise<string[]> =>
      names(
        (await client().get(`/api/v1/nodes?labelSelector=${encodeURIComponent(`list=labels,${selector}`)}`)).object,
      );
    expect(await found("app=x")).toEqual(["l-x"]);
    expect(await found("app!=x")).toEqual(["l-y", "l-z"]);
    expect(await found("app in (x,y)")).toEqual(["l-x", "l-y"]);
    expect(await found("app notin (x)")).toEqual(["l-y", "l-z"]);
    expect(await found("app")).toEqual(["l-x", "l-y"]);
    expect(await found("!app")).toEqual(["l-z"]);
  });

  test("field selectors support metadata.name, spec.nodeName and status.phase", async () => {
    await client().post(PODS, podNamed("l-bound", "l-node"));
    await client().post(PODS, podNamed("l-unbound"));
    const found = async (path: string, selector: string): Promise<string[]> =>
      names((await client().get(`${path}?fieldSelector=${encodeURIComponent(selector)}`)).object);
    expect(await found("/api/v1/nodes", "metadata.name=l-x")).toEqual(["l-x"]);
    expect(await found(PODS, "spec.nodeName=l-node")).toEqual(["l-bound"]);
    expect(await found("/api/v1/pods", "spec.nodeName=l-node,status.phase!=Running")).toEqual(["l-bound"]);
    expect(await found(PODS, "spec.nodeName=l-node,metadata.namespace=default")).toEqual(["l-bound"]);
    const bound = await found("/api/v1/pods", "spec.nodeName!=");
    expect(bound).toContain("l-bound");
    expect(bound).not.toContain("l-unbound");
  });

  test("an unsupported field selector and a malformed selector are 400", async () => {
    const field = await client().get("/api/v1/nodes?fieldSelector=spec.providerID%3Dx");
    expect(field.status).toBe(400);
    expect(field.object).toMatchObject({ reason: "BadRequest" });
    expect((await client().get("/api/v1/nodes?labelSelector=a%3D%3D%3Db")).status).toBe(400);
  });

  test("resourceVersion=0 is answered from any state, and an invalid one is refused", async () => {
    expect((await client().get("/api/v1/nodes?resourceVersion=0&limit=1")).status).toBe(200);
    const bad = await client().get("/api/v1/nodes?resourceVersion=not-a-version");
    expect(bad.object).toMatchObject({ kind: "Status", status: "Failure" });
  });

  test("a continue token is 410 Expired once its history is forgotten", async () => {
    const { object } = await client().get("/api/v1/nodes?limit=1");
    await client().patch(nodePath("l-x"), "merge-patch", { metadata: { labels: { turn: "over" } } });
    await compact();
    const token = encodeURIComponent(String(object.metadata.continue));
    const expired = await client().get(`/api/v1/nodes?limit=1&continue=${token}`);
    expect(expired.status).toBe(410);
    expect(expired.object).toMatchObject({ reason: "Expired", code: 410 });
  });
}

function items(list: KubeObject): readonly KubeObject[] {
  return Array.isArray(list.items) ? (list.items as readonly KubeObject[]) : [];
}

function names(list: KubeObject): string[] {
  return items(list).map((item) => item.metadata.name);
}
