/** The contract's part about custom resources: their definition, and what it makes of their objects. */
import { beforeAll, expect, test } from "vitest";
import type { KubeObject } from "../../protocols/ports.ts";
import { until } from "../support/until.ts";
import type { RawAnswer, RawClient } from "./kube.provided.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP = "contract.vigil.test";
const LIMITS = `/apis/${GROUP}/v1alpha1/limits`;
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

const SPEC_SCHEMA = {
  type: "object",
  required: ["mode"],
  properties: {
    mode: { type: "string", enum: ["Enforce", "Freeze"], default: "Enforce" },
    nodes: { type: "integer", minimum: 1, maximum: 10 },
    rate: { type: "number", minimum: 0, exclusiveMinimum: true },
    grace: { type: "string", pattern: "^[0-9]+s$", maxLength: 5 },
    share: { "x-kubernetes-int-or-string": true },
    since: { type: "string", format: "date-time" },
    labels: { type: "object", additionalProperties: { type: "string" } },
    free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    note: { type: "string", nullable: true },
    taints: {
      type: "array",
      maxItems: 2,
      items: {
        type: "object",
        required: ["key"],
        properties: { key: { type: "string" }, effect: { type: "string", default: "NoSchedule" } },
      },
    },
  },
};

const STATUS_SCHEMA = {
  type: "object",
  properties: { matched: { type: "integer" }, phase: { type: "string" } },
};

const COLUMNS = [
  { name: "Nodes", type: "integer", jsonPath: ".spec.nodes" },
  { name: "First", type: "string", jsonPath: ".spec.taints[0].key", priority: 1 },
  { name: "Effect", type: "string", jsonPath: '.spec.taints[?(@.key=="b")].effect' },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

/** A definition of the kind with this name in the group of these tests. */
function definition(kind: string, version: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const plural = `${kind.toLowerCase()}s`;
  const properties = { spec: SPEC_SCHEMA, status: STATUS_SCHEMA };
  const schema = { openAPIV3Schema: { type: "object", required: ["spec"], properties } };
  const served = { name: "v1alpha1", served: true, storage: true, schema, subresources: { status: {} }, ...version };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Cluster",
      names: { plural, kind, shortNames: [kind.slice(0, 3).toLowerCase()] },
      versions: [served],
    },
  };
}

/** A limit with this name. */
function limit(name: string, spec: Readonly<Record<string, unknown>> = {}, more = {}): Record<string, unknown> {
  return { apiVersion: `${GROUP}/v1alpha1`, kind: "Limit", metadata: { name }, spec, ...more };
}

/** The resources of the group by discovery. */
async function servedBy(client: RawClient): Promise<string[]> {
  const { object } = await client.get(`/apis/${GROUP}/v1alpha1`);
  return (object.resources as { name: string }[]).map(({ name }) => name);
}

function causes({ object }: RawAnswer): unknown[] {
  const { causes: list } = object.details as { causes: { field: string; message: string }[] };
  return list
    .map(({ field, message }) => [field, message])
    .sort(([left = ""], [right = ""]) => left.localeCompare(right));
}

/** Registers the tests. */
export function customContract(client: () => RawClient): void {
  const conditions = async (name: string): Promise<Record<string, string>> => {
    const { object } = await client().get(`${DEFINITIONS}/${name}.${GROUP}`);
    // A definition that was just made has null for them.
    const { conditions: list } = (object.status ?? {}) as { conditions?: { type: string; status: string }[] | null };
    return Object.fromEntries((list ?? []).map(({ type, status }) => [type, status]));
  };
  const defined = async (kind: string, version?: Readonly<Record<string, unknown>>): Promise<KubeObject> => {
    const { status, object } = await client().post(DEFINITIONS, definition(kind, version));
    expect({ status, message: object.message }).toEqual({ status: 201, message: undefined });
    const plural = `${kind.toLowerCase()}s`;
    await until(
      `${plural} are served`,
      async () => (await client().get(`/apis/${GROUP}/v1alpha1/${plural}`)).status === 200,
    );
    return object;
  };
  beforeAll(async () => {
    await defined("Limit", { additionalPrinterColumns: COLUMNS });
  });

  definitionTests(client, conditions, defined);
  objectTests(client);
  refusalTests(client);
}

type Defined = (kind: string, version?: Readonly<Record<string, unknown>>) => Promise<KubeObject>;

function definitionTests(
  client: () => RawClient,
  conditions: (name: string) => Promise<Record<string, string>>,
  defined: Defined,
): void {
  test("a definition gets default names and a generation, and is established", async () => {
    const { status, object } = await client().get(`${DEFINITIONS}/limits.${GROUP}`);
    expect(status).toBe(200);
    const names = { plural: "limits", singular: "limit", kind: "Limit", listKind: "LimitList", shortNames: ["lim"] };
    expect(object).toMatchObject({
      metadata: { generation: 1 },
      spec: { conversion: { strategy: "None" }, names },
      status: { acceptedNames: names, storedVersions: ["v1alpha1"] },
    });
    expect(await conditions("limits")).toEqual({ NamesAccepted: "True", Established: "True" });
  });

  test("its resource is in the discovery of its group", async () => {
    const { object: groups } = await client().get("/apis");
    expect(groups.groups).toContainEqual({
      name: GROUP,
      versions: [{ groupVersion: `${GROUP}/v1alpha1`, version: "v1alpha1" }],
      preferredVersion: { groupVersion: `${GROUP}/v1alpha1`, version: "v1alpha1" },
    });
    const { object } = await client().get(`/apis/${GROUP}/v1alpha1`);
    const resources = object.resources as { name: string; verbs: string[] }[];
    expect(resources.find(({ name }) => name === "limits")).toMatchObject({
      singularName: "limit",
      namespaced: false,
      kind: "Limit",
      shortNames: ["lim"],
      verbs: expect.arrayContaining([
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
      ]),
    });
    expect(resources.find(({ name }) => name === "limits/status")).toMatchObject({ verbs: ["get", "patch", "update"] });
  });

  test("a definition with names of another is not established", async () => {
    const twin = definition("Twin") as { spec: { names: Record<string, unknown> } };
    twin.spec.names.kind = "Limit";
    expect((await client().post(DEFINITIONS, twin)).status).toBe(201);
    await until("its names are refused", async () => (await conditions("twins")).NamesAccepted === "False");
    expect(await conditions("twins")).toEqual({ NamesAccepted: "False", Established: "False" });
    expect(await servedBy(client())).not.toContain("twins");
  });

  test("a deleted definition goes after its objects, and its resource is gone", async () => {
    await defined("Short");
    const shorts = `/apis/${GROUP}/v1alpha1/shorts`;
    const short = { ...limit("one"), kind: "Short" };
    expect((await client().post(shorts, short)).status).toBe(201);
    const { status, object } = await client().delete(`${DEFINITIONS}/shorts.${GROUP}`);
    expect(status).toBe(200);
    expect(object.metadata).toMatchObject({ finalizers: ["customresourcecleanup.apiextensions.k8s.io"] });
    const gone = async (): Promise<boolean> => (await client().get(`${DEFINITIONS}/shorts.${GROUP}`)).status === 404;
    await until("the definition is gone", gone);
    await until("its resource is gone", async () => !(await servedBy(client())).includes("shorts"));
  });

  test("a definition without a schema, or with another name, is 422 Invalid", async () => {
    const bare = await client().post(DEFINITIONS, definition("Bare", { schema: undefined }));
    expect(bare.status).toBe(422);
    expect(causes(bare)).toContainEqual([
      "spec.versions[0].schema.openAPIV3Schema",
      "Required value: schemas are required",
    ]);
    const other = await client().post(DEFINITIONS, { ...definition("Other"), metadata: { name: "others.else" } });
    expect(causes(other)).toContainEqual([
      "metadata.name",
      'Invalid value: "others.else": must be spec.names.plural+"."+spec.group',
    ]);
    const named = definition("Named") as { spec: { names: Record<string, unknown> } };
    named.spec.names.shortNames = ["Nam"];
    expect(causes(await client().post(DEFINITIONS, named))).toContainEqual([
      "spec.names.shortNames[0]",
      expect.stringContaining('Invalid value: "Nam": a DNS-1035 label must'),
    ]);
    const properties = { spec: { properties: {} } };
    const untyped = await client().post(
      DEFINITIONS,
      definition("Untyped", { schema: { openAPIV3Schema: { type: "object", properties } } }),
    );
    expect(causes(untyped)).toContainEqual([
      "spec.validation.openAPIV3Schema.properties[spec].type",
      "Required value: must not be empty for specified object fields",
    ]);
  });
}

function objectTests(client: () => RawClient): void {
  test("an object loses unknown fields and its status, and gets defaults", async () => {
    const taints = [{ key: "a", odd: 1 }];
    const free = { any: { thing: [1, "two"] } };
    const spec = { odd: 1, note: null, free, labels: { a: "b" }, taints, share: "20%", mode: null };
    const { status, object } = await client().post(LIMITS, limit("kept", spec, { odd: 1, status: { matched: 3 } }));
    expect(status).toBe(201);
    expect(object.spec).toEqual({
      note: null,
      free,
      labels: { a: "b" },
      taints: [{ key: "a", effect: "NoSchedule" }],
      share: "20%",
      mode: "Enforce",
    });
    expect(object).not.toHaveProperty("status");
    expect(object).not.toHaveProperty("odd");
    expect(object.metadata).toMatchObject({ generation: 1, uid: expect.any(String) });
  });

  test("a null that its schema does not allow counts as absent", async () => {
    const spec = {
      nodes: null,
      labels: { a: null, b: "c" },
      free: { kept: null },
      taints: [{ key: "a", effect: null }],
    };
    const { status, object } = await client().post(LIMITS, limit("nulls", spec));
    expect(status).toBe(201);
    const taints = [{ key: "a", effect: "NoSchedule" }];
    expect(object.spec).toEqual({ labels: { b: "c" }, free: { kept: null }, taints, mode: "Enforce" });
    const bare = await client().post(LIMITS, limit("null-key", { taints: [{ key: null }] }));
    // A server of 1.20 names no place in a list.
    const named = JSON.stringify(causes(bare)).replace("taints[0]", "taints");
    expect(named).toBe(JSON.stringify([["spec.taints.key", "Required value"]]));
  });

  test("only a change of the spec counts as a generation", async () => {
    await client().post(LIMITS, limit("counted", { nodes: 1 }));
    const at = `${LIMITS}/counted`;
    const labelled = await client().patch(at, "merge-patch", { metadata: { labels: { a: "b" } } });
    const same = await client().patch(at, "merge-patch", { spec: { nodes: 1 }, status: { matched: 9 } });
    const reported = await client().patch(`${at}/status`, "merge-patch", { status: { matched: 1 } });
    const changed = await client().patch(at, "json-patch", [{ op: "replace", path: "/spec/nodes", value: 2 }]);
    const generations = [labelled, same, reported, changed].map(({ object }) => object.metadata.generation);
    expect(generations).toEqual([1, 1, 1, 2]);
    expect(changed.object).toMatchObject({ spec: { nodes: 2 }, status: { matched: 1 } });
  });

  test("the status subresource writes the status and nothing else", async () => {
    await client().post(LIMITS, limit("status", { nodes: 1 }));
    const change = { metadata: { labels: { a: "b" } }, spec: { nodes: 7 }, status: { matched: 2, odd: 1 } };
    const { status, object } = await client().patch(`${LIMITS}/status/status`, "merge-patch", change);
    expect(status).toBe(200);
    expect(object).toMatchObject({ spec: { nodes: 1 }, status: { matched: 2 } });
    expect(object.status).not.toHaveProperty("odd");
    expect(object.metadata.labels).toBeUndefined();
    const replaced = { ...object, spec: { nodes: 8 }, status: { phase: "Done" } };
    const put = await client().put(`${LIMITS}/status/status`, replaced);
    expect(put.object).toMatchObject({ spec: { nodes: 1 }, status: { phase: "Done" } });
  });

  test("objects are rows with the columns of their definition", async () => {
    const taints = [{ key: "a" }, { key: "b", effect: "NoExecute" }];
    await client().post(LIMITS, limit("row", { nodes: 3, taints }));
    const { object } = await client().get(`${LIMITS}?fieldSelector=metadata.name%3Drow`, TABLE);
    const definitions = object.columnDefinitions as { name: string; type: string; priority: number }[];
    expect(definitions.map(({ name, type, priority }) => [name, type, priority])).toEqual([
      ["Name", "string", 0],
      ["Nodes", "integer", 0],
      ["First", "string", 1],
      ["Effect", "string", 0],
      ["Age", "date", 0],
    ]);
    const [row] = object.rows as { cells: unknown[] }[];
    expect(row?.cells).toEqual(["row", 3, "a", "NoExecute", expect.stringMatching(/^\d+s$/)]);
    const bare = await client().get(`${LIMITS}/kept`, TABLE);
    expect((bare.object.rows as { cells: unknown[] }[])[0]?.cells.slice(0, 4)).toEqual(["kept", null, "a", null]);
  });

  test("a watch shows objects created, changed and deleted", async () => {
    const watch = await client().watch(`${LIMITS}?watch=true&fieldSelector=metadata.name%3Dwatched`);
    await client().post(LIMITS, limit("watched", { nodes: 1 }));
    await client().patch(`${LIMITS}/watched`, "merge-patch", { spec: { nodes: 2 } });
    await client().delete(`${LIMITS}/watched`);
    const last = await watch.event(({ type }) => type === "DELETED");
    watch.close();
    expect(watch.events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    expect(last.object).toMatchObject({ kind: "Limit", apiVersion: `${GROUP}/v1alpha1`, spec: { nodes: 2 } });
  });

  test("an apply creates an object and changes it", async () => {
    const created = await client().apply(`${LIMITS}/applied`, limit("applied", { nodes: 1 }));
    expect(created.status).toBe(201);
    const changed = await client().apply(`${LIMITS}/applied`, limit("applied", { nodes: 2 }));
    expect(changed.object).toMatchObject({ spec: { nodes: 2, mode: "Enforce" }, metadata: { generation: 2 } });
  });
}

function refusalTests(client: () => RawClient): void {
  test("a field that breaks its schema is 422 Invalid, with the reason", async () => {
    const answer = await client().post(
      LIMITS,
      limit("bad", {
        mode: "Odd",
        nodes: 0,
        rate: 0,
        grace: "5m",
        share: true,
        since: "yesterday",
        labels: { a: 1 },
        free: 1,
      }),
    );
    expect(answer.status).toBe(422);
    expect(answer.object).toMatchObject({ reason: "Invalid", details: { name: "bad", group: GROUP, kind: "Limit" } });
    expect(causes(answer)).toEqual([
      ["spec.free", 'Invalid value: "integer": spec.free in body must be of type object: "integer"'],
      ["spec.grace", `Invalid value: "5m": spec.grace in body should match '^[0-9]+s$'`],
      ["spec.labels.a", 'Invalid value: "integer": spec.labels.a in body must be of type string: "integer"'],
      ["spec.mode", 'Unsupported value: "Odd": supported values: "Enforce", "Freeze"'],
      ["spec.nodes", "Invalid value: 0: spec.nodes in body should be greater than or equal to 1"],
      ["spec.rate", "Invalid value: 0: spec.rate in body should be greater than 0"],
      ["spec.share", 'Invalid value: "boolean": spec.share in body must be of type integer,string: "boolean"'],
      ["spec.since", 'Invalid value: "yesterday": spec.since in body must be of type date-time: "yesterday"'],
    ]);
  });

  test("an object without its spec, and a patch past a limit, are 422 Invalid", async () => {
    const bare = await client().post(LIMITS, { ...limit("bare"), spec: undefined });
    expect(causes(bare)).toEqual([["spec", "Required value"]]);
    await client().post(LIMITS, limit("limited", { nodes: 1 }));
    const patched = await client().patch(`${LIMITS}/limited`, "merge-patch", { spec: { nodes: 11 } });
    expect(patched.status).toBe(422);
    expect(causes(patched)).toEqual([
      ["spec.nodes", "Invalid value: 11: spec.nodes in body should be less than or equal to 10"],
    ]);
  });

  test("an update needs a resourceVersion, and a stale one is 409", async () => {
    const { object } = await client().post(LIMITS, limit("updated", { nodes: 1 }));
    const bare = await client().put(`${LIMITS}/updated`, limit("updated", { nodes: 2 }));
    expect(causes(bare)).toEqual([["metadata.resourceVersion", "Invalid value: 0x0: must be specified for an update"]]);
    const right = await client().put(`${LIMITS}/updated`, { ...object, spec: { nodes: 2 } });
    expect(right).toMatchObject({ status: 200, object: { spec: { nodes: 2, mode: "Enforce" } } });
    expect((await client().put(`${LIMITS}/updated`, { ...object, spec: { nodes: 3 } })).status).toBe(409);
  });

  test("a strategic merge patch is 415, another apiVersion and no kind are 400", async () => {
    await client().post(LIMITS, limit("typed"));
    const strategic = await client().patch(`${LIMITS}/typed`, "strategic-merge-patch", { spec: { nodes: 2 } });
    expect(strategic).toMatchObject({ status: 415, object: { reason: "UnsupportedMediaType" } });
    const other = await client().post(LIMITS, { ...limit("other"), apiVersion: `${GROUP}/v1` });
    const message = `the API version in the data (${GROUP}/v1) does not match the expected API version (${GROUP}/v1alpha1)`;
    expect(other).toMatchObject({ status: 400, object: { message } });
    const kindless = await client().post(LIMITS, { metadata: { name: "kindless" }, spec: {} });
    expect(kindless).toMatchObject({ status: 400, object: { reason: "BadRequest" } });
  });
}
