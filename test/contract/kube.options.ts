/** The contract's part about the state that a list shows, and the time that every response carries. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../protocols/ports.ts";
import { nodeNamed, nodePath, type RawAnswer, type RawClient } from "./kube.provided.ts";

const NODES = "/api/v1/nodes";

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

  test("a list at a forgotten version is 410 Expired, at a future one a server error", async () => {
    const version = await changing("o-old");
    await compact();
    const exact = "resourceVersionMatch=Exact&resourceVersion";
    const { status, object } = await client().get(`${NODES}?${exact}=${version}`);
    expect([status, object.reason]).toEqual([410, "Expired"]);
    const future = await client().get(`${NODES}?${exact}=99999999`);
    expect(future.status).toBeGreaterThanOrEqual(500);
  });
}
