/** The contract's part about request options: which state a list shows, what a delete leaves, which manager applies. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../protocols/ports.ts";
import { nodeNamed, nodePath, podNamed, podPath, type RawAnswer, type RawClient } from "./kube.provided.ts";

const NODES = "/api/v1/nodes";
const PODS = "/api/v1/namespaces/default/pods";

/** Registers the tests; `compact` makes the server forget its history. */
export function optionsContract(client: () => RawClient, compact: () => Promise<void>): void {
  const names = ({ object }: RawAnswer): string[] =>
    (object.items as KubeObject[]).map(({ metadata }) => metadata.name);
  const chosen = `labelSelector=${encodeURIComponent("o=list")}`;
  const labelled = async (name: string): Promise<string> => {
    const { object } = await client().post(NODES, nodeNamed(name, { metadata: { name, labels: { o: "list" } } }));
    return String(object.metadata.resourceVersion);
  };
  /** The nodes were first a and b, then b and c. Returns the resourceVersion of the first state. */
  const changing = async (prefix: string): Promise<string> => {
    await labelled(`${prefix}-a`);
    const version = await labelled(`${prefix}-b`);
    await client().delete(nodePath(`${prefix}-a`));
    await client().patch(nodePath(`${prefix}-b`), "merge-patch", { metadata: { labels: { changed: "yes" } } });
    await labelled(`${prefix}-c`);
    return version;
  };

  test("every answer has the server's date", async () => {
    for (const path of ["/version", NODES, nodePath("o-nobody")]) {
      const { headers } = await client().get(path);
      expect(Math.abs(Date.parse(headers.date ?? "") - Date.now())).toBeLessThan(10_000);
    }
  });

  test("a list at an exact version shows that state; NotOlderThan shows the present", async () => {
    const version = await changing("o-at");
    const exact = await client().get(`${NODES}?${chosen}&resourceVersion=${version}&resourceVersionMatch=Exact`);
    expect([exact.status, exact.object.metadata.resourceVersion]).toEqual([200, version]);
    expect(names(exact)).toEqual(["o-at-a", "o-at-b"]);
    expect((exact.object.items as KubeObject[])[1]?.metadata.labels).toEqual({ o: "list" });
    // A list from the cache is not ordered.
    for (const match of ["&resourceVersionMatch=NotOlderThan", ""]) {
      const present = await client().get(`${NODES}?${chosen}&resourceVersion=${version}${match}`);
      expect(names(present).toSorted()).toEqual(["o-at-b", "o-at-c"]);
    }
    for (const name of ["o-at-b", "o-at-c"]) await client().delete(nodePath(name));
  });

  test("a page of a list at a version shows that version, and so do the next pages", async () => {
    const version = await changing("o-page");
    const first = await client().get(`${NODES}?${chosen}&resourceVersion=${version}&limit=1`);
    const token = encodeURIComponent(String(first.object.metadata.continue));
    const second = await client().get(`${NODES}?${chosen}&limit=1&continue=${token}`);
    expect([...names(first), ...names(second)]).toEqual(["o-page-a", "o-page-b"]);
    for (const name of ["o-page-b", "o-page-c"]) await client().delete(nodePath(name));
  });

  test("a list at a forgotten version is 410 Expired, at a future one 500", async () => {
    const version = await changing("o-old");
    await compact();
    const exact = "resourceVersionMatch=Exact&resourceVersion";
    const { status, object } = await client().get(`${NODES}?${exact}=${version}`);
    expect([status, object.reason]).toEqual([410, "Expired"]);
    const future = await client().get(`${NODES}?${exact}=99999999`);
    expect(future.object).toMatchObject({
      code: 500,
      message: "etcdserver: mvcc: required revision is a future revision",
    });
  });

  test.each([
    ["resourceVersionMatch=Exact", "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"],
    [
      "resourceVersionMatch=Odd&resourceVersion=1",
      'Unsupported value: "Odd": supported values: "Exact", "NotOlderThan", ""',
    ],
    [
      "resourceVersionMatch=Exact&resourceVersion=0",
      'Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      "resourceVersionMatch=Exact&resourceVersion=1&continue=x",
      "Forbidden: resourceVersionMatch is forbidden when continue is provided",
    ],
    [
      "resourceVersionMatch=NotOlderThan&resourceVersion=1&watch=true",
      "Forbidden: resourceVersionMatch is forbidden for watch",
    ],
  ])("a list with %s is 422 Invalid", async (query, why) => {
    const { status, object } = await client().get(`${NODES}?${query}`);
    expect(status).toBe(422);
    expect(object.message).toBe(`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${why}`);
  });

  test.each([
    ["Foreground", "foregroundDeletion"],
    ["Orphan", "orphan"],
  ])("a delete with %s keeps the object under a finalizer until that is removed", async (policy, finalizer) => {
    const name = `o-${policy.toLowerCase()}`;
    await client().post(NODES, nodeNamed(name, { metadata: { name, finalizers: ["vigil.test/hold"] } }));
    const { status, object } = await client().delete(nodePath(name), { propagationPolicy: policy });
    expect(status).toBe(200);
    const held = { deletionTimestamp: expect.any(String), finalizers: ["vigil.test/hold", finalizer] };
    expect(object.metadata).toMatchObject(held);
    await client().patch(nodePath(name), "merge-patch", { metadata: { finalizers: [finalizer] } });
    expect((await client().get(nodePath(name))).status).toBe(200);
    await client().patch(nodePath(name), "merge-patch", { metadata: { finalizers: [] } });
    expect((await client().get(nodePath(name))).status).toBe(404);
  });

  test("a Foreground delete of a pod on a node respects its grace period", async () => {
    await client().post(PODS, podNamed("o-pod", "o-node"));
    const { object } = await client().delete(`${podPath("o-pod")}?propagationPolicy=Foreground`);
    expect(object.metadata).toMatchObject({ deletionGracePeriodSeconds: 30, finalizers: ["foregroundDeletion"] });
  });

  test("a later delete may drop an earlier one's finalizer; Background adds none", async () => {
    await client().post(NODES, nodeNamed("o-later"));
    const held = await client().delete(nodePath("o-later"), { orphanDependents: true });
    expect(held.object.metadata).toMatchObject({ finalizers: ["orphan"] });
    const other = await client().delete(nodePath("o-later"), { propagationPolicy: "Foreground" });
    expect(other.object.metadata).toMatchObject({ finalizers: ["foregroundDeletion"] });
    expect((await client().delete(nodePath("o-later"), { propagationPolicy: "Background" })).object).toMatchObject({
      kind: "Status",
      status: "Success",
    });
    expect((await client().get(nodePath("o-later"))).status).toBe(404);
  });

  test.each([
    [
      { propagationPolicy: "Odd" },
      'Unsupported value: "Odd": supported values: "Foreground", "Background", "Orphan", "nil"',
    ],
    [
      { propagationPolicy: "Orphan", orphanDependents: true },
      'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
    ],
  ])("a delete with %j is 422 Invalid and deletes nothing", async (options, why) => {
    await client().post(NODES, nodeNamed("o-odd"));
    const { status, object } = await client().delete(nodePath("o-odd"), options);
    expect(status).toBe(422);
    expect(object.message).toBe(`DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: ${why}`);
    expect((await client().get(nodePath("o-odd"))).object.metadata.deletionTimestamp).toBeUndefined();
  });

  test("an apply without a manager, a manager name too long, force alone: 422 Invalid", async () => {
    const long = "x".repeat(129);
    const answers = [
      ["PatchOptions", await client().apply(nodePath("o-apply"), nodeNamed("o-apply"), "")],
      ["PatchOptions", await client().patch(`${nodePath("o-apply")}?force=true`, "merge-patch", {})],
      ["CreateOptions", await client().post(`${NODES}?fieldManager=${long}`, nodeNamed("o-apply"))],
    ] as const;
    expect(answers.map(([options, { object }]) => String(object.message).replace(options, ""))).toEqual([
      '.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      '.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
      '.meta.k8s.io "" is invalid: fieldManager: Too long: must have at most 128 bytes',
    ]);
    expect((await client().get(nodePath("o-apply"))).status).toBe(404);
  });
}
