/** The contract's part about ConfigMaps. */
import { expect, test } from "vitest";
import type { RawClient } from "./kube.provided.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";

/** Registers the tests. */
export function configMapsContract(client: () => RawClient): void {
  const map = (name: string, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default" },
    data: { a: "1", b: "2" },
    ...more,
  });

  test("a ConfigMap keeps its data over patches and updates", async () => {
    const { status } = await client().post(MAPS, map("c-kept", { odd: 1 }));
    expect(status).toBe(201);
    const patched = await client().patch(`${MAPS}/c-kept`, "merge-patch", { data: { a: null, c: "3" } });
    expect(patched.object).toMatchObject({ data: { b: "2", c: "3" } });
    expect(patched.object).not.toHaveProperty("odd");
    const replaced = await client().put(`${MAPS}/c-kept`, map("c-kept", { data: { d: "4" } }));
    expect(replaced.object.data).toEqual({ d: "4" });
    const unplaced = { ...map("c-kept"), metadata: { name: "c-kept" } };
    const moved = await client().put(`${MAPS}/c-kept`, unplaced);
    expect(moved).toMatchObject({ status: 200, object: { metadata: { namespace: "default" } } });
    expect((await client().delete(`${MAPS}/c-kept`)).status).toBe(200);
  });

  test("an immutable ConfigMap cannot change, only be deleted", async () => {
    await client().post(MAPS, map("c-fixed", { immutable: true }));
    const { status, object } = await client().patch(`${MAPS}/c-fixed`, "merge-patch", { data: { a: "2" } });
    expect(status).toBe(422);
    expect(object.message).toContain("data: Forbidden: field is immutable when `immutable` is set");
    const labelled = await client().patch(`${MAPS}/c-fixed`, "merge-patch", { metadata: { labels: { a: "b" } } });
    expect(labelled.status).toBe(200);
    expect((await client().delete(`${MAPS}/c-fixed`)).status).toBe(200);
  });

  test("a key that is no file name is 422, and data that is no text is 400", async () => {
    const { status, object } = await client().post(MAPS, map("c-key", { data: { "a b": "1" } }));
    expect(status).toBe(422);
    expect(object.details).toMatchObject({ causes: [{ field: "data[a b]", reason: "FieldValueInvalid" }] });
    expect((await client().post(MAPS, map("c-number", { data: { a: 1 } }))).status).toBe(400);
  });
}
