/** The contract's part about watches: where they start, what they contain, how they end. */
import { expect, test } from "vitest";
import {
  nodeNamed,
  nodePath,
  podNamed,
  podPath,
  type RawClient,
  type RawEvent,
  type RawWatch,
} from "./kube.provided.ts";

const NODES = "/api/v1/nodes";
const PODS = "/api/v1/namespaces/default/pods";

/** The real server sends bookmarks about once a minute. */
const BOOKMARK_WAIT_MS = 80_000;

/** Registers the tests; `compact` makes the server forget its history. */
export function watchesContract(client: () => RawClient, compact: () => Promise<void>): void {
  const watched = async <T>(path: string, use: (watch: RawWatch) => Promise<T>): Promise<T> => {
    const watch = await client().watch(path);
    try {
      return await use(watch);
    } finally {
      watch.close();
    }
  };

  test("a watch from a resourceVersion has every later change once and in order", async () => {
    const { object: created } = await client().post(NODES, nodeNamed("w-order"));
    for (const step of ["1", "2", "3"]) {
      await client().patch(nodePath("w-order"), "merge-patch", { metadata: { labels: { step } } });
    }
    await client().delete(nodePath("w-order"));
    const path = `${NODES}?watch=true&fieldSelector=metadata.name%3Dw-order&resourceVersion=${created.metadata.resourceVersion}`;
    await watched(path, async (watch) => {
      await watch.event(({ type }) => type === "DELETED");
      expect(watch.events.map(({ type }) => type)).toEqual(["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]);
      expect(watch.events.map(({ object }) => object.metadata.labels)).toEqual([
        { step: "1" },
        { step: "2" },
        { step: "3" },
        { step: "3" },
      ]);
      const versions = watch.events.map(({ object }) => Number(object.metadata.resourceVersion));
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      expect(watch.events[0]?.object).toMatchObject({ kind: "Node", apiVersion: "v1" });
    });
  });

  test("a list of one object is as new as every earlier write, a later write is newer", async () => {
    await client().post(NODES, nodeNamed("w-version"));
    const written = async (step: string): Promise<number> => {
      const labels = { step };
      const { object } = await client().patch(nodePath("w-version"), "merge-patch", { metadata: { labels } });
      return Number(object.metadata.resourceVersion);
    };
    const versions: number[] = [];
    for (const step of ["1", "2", "3"]) {
      versions.push(await written(step));
      // The version is that of the store: it counts writes to other resources too, and those to objects not listed.
      const { object: pod } = await client().post(PODS, podNamed(`w-version-${step}`));
      versions.push(Number(pod.metadata.resourceVersion));
      const { object: list } = await client().get(`${NODES}?limit=1`);
      versions.push(Number(list.metadata.resourceVersion));
    }
    versions.push(await written("last"));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(versions.at(-1)).toBeGreaterThan(versions.at(-2) ?? Number.NaN);
  });

  test("a watch at the version of a list has shown every earlier change", async () => {
    await client().post(NODES, nodeNamed("w-first"));
    await client().post(NODES, nodeNamed("w-second"));
    await watched(`${NODES}?watch=true`, async (watch) => {
      for (const step of ["1", "2", "3", "4", "5"]) {
        const change = { metadata: { labels: { step } } };
        await client().patch(nodePath("w-first"), "merge-patch", change);
        const { object: list } = await client().get(`${NODES}?limit=1`);
        const present = Number(list.metadata.resourceVersion);
        await client().patch(nodePath("w-second"), "merge-patch", change);
        const reached = await watch.event(({ object }) => Number(object.metadata.resourceVersion) >= present);
        const shown = watch.events.slice(0, watch.events.indexOf(reached) + 1);
        const first = shown.findLast(({ object }) => object.metadata.name === "w-first");
        expect(first?.object.metadata.labels).toEqual({ step });
      }
    });
  });

  test("a watch without a resourceVersion begins with the present objects", async () => {
    await client().post(NODES, nodeNamed("w-there"));
    await watched(`${NODES}?watch=true&fieldSelector=metadata.name%3Dw-there`, async (watch) => {
      const first = await watch.event(() => true);
      expect(first).toMatchObject({ type: "ADDED", object: { metadata: { name: "w-there" } } });
    });
  });

  test("a pod enters a watch of bound pods as ADDED when it is bound", async () => {
    await client().post(PODS, podNamed("w-binding"));
    await watched(`${PODS}?watch=true&fieldSelector=${encodeURIComponent("spec.nodeName!=")}`, async (watch) => {
      const binding = {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "w-binding" },
        target: { kind: "Node", name: "w-node" },
      };
      expect((await client().post(podPath("w-binding", "/binding"), binding)).status).toBe(201);
      const bound = await watch.event(({ object }) => object.metadata.name === "w-binding");
      expect(bound).toMatchObject({ type: "ADDED", object: { spec: { nodeName: "w-node" } } });
    });
    const { object } = await client().get(podPath("w-binding"));
    expect(object).toMatchObject({ status: { conditions: [{ type: "PodScheduled", status: "True" }] } });
  });

  test("an object that leaves a watch's selection is DELETED, in its last state there", async () => {
    await client().post(NODES, nodeNamed("w-leaves", { metadata: { name: "w-leaves", labels: { w: "in" } } }));
    await watched(`${NODES}?watch=true&labelSelector=w%3Din`, async (watch) => {
      await watch.event(({ type }) => type === "ADDED");
      const change = { metadata: { labels: { w: "out" } } };
      const { object } = await client().patch(nodePath("w-leaves"), "merge-patch", change);
      const left = await watch.event(({ type }) => type === "DELETED");
      const { resourceVersion } = object.metadata;
      expect(left.object.metadata).toMatchObject({ name: "w-leaves", labels: { w: "in" }, resourceVersion });
    });
  });

  test(
    "a quiet watch gets a bookmark with a resourceVersion about every minute",
    async () => {
      const { object } = await client().get(NODES);
      const from = object.metadata.resourceVersion;
      const query = `allowWatchBookmarks=true&resourceVersion=${from}&fieldSelector=metadata.name%3Dw-nobody`;
      await watched(`${NODES}?watch=true&${query}`, async (watch) => {
        await client().post(NODES, nodeNamed("w-unselected"));
        // One may come before the change.
        const isNewer = ({ type, object }: RawEvent): boolean =>
          type === "BOOKMARK" && Number(object.metadata.resourceVersion) > Number(from);
        const bookmark = await watch.event(isNewer, BOOKMARK_WAIT_MS);
        expect(bookmark.object).toMatchObject({ kind: "Node", apiVersion: "v1" });
      });
    },
    BOOKMARK_WAIT_MS + 10_000,
  );

  test("a watch ends in order when its timeoutSeconds are over", async () => {
    await watched(`${NODES}?watch=true&timeoutSeconds=1&resourceVersion=0`, async (watch) => {
      await watch.ended;
      expect(watch.events.filter(({ type }) => type === "ERROR")).toEqual([]);
    });
  });

  test("a watch without allowWatchBookmarks gets none", async () => {
    await watched(
      `${NODES}?watch=true&timeoutSeconds=2&resourceVersion=0&fieldSelector=metadata.name%3Dx`,
      async (watch) => {
        await watch.ended;
        expect(watch.events).toEqual([]);
      },
    );
  });

  test("a watch from a forgotten resourceVersion reports that it is expired", async () => {
    const { object: old } = await client().post(NODES, nodeNamed("w-old"));
    for (const step of ["1", "2"]) {
      await client().patch(nodePath("w-old"), "merge-patch", { metadata: { labels: { step } } });
    }
    await compact();
    const watch = await client().watch(`${NODES}?watch=true&resourceVersion=${old.metadata.resourceVersion}`);
    // The real server reports it in an event or in the answer's status, depending on where the history was lost.
    if ((await watch.accepted) === 200) {
      const error = await watch.event(({ type }) => type === "ERROR");
      expect(error.object).toMatchObject({ kind: "Status", code: 410, reason: "Expired" });
    } else {
      expect(await watch.accepted).toBe(410);
    }
    watch.close();
  });
}
