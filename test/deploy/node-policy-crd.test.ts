/** The definition of node policies: it is current, and an API server with it refuses what Vigil would. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { nodePolicyDefinitionText } from "../../deploy/crd/node-policy-crd.ts";
import { NODE_POLICY_MEANINGS } from "../../deploy/crd/node-policy-meanings.ts";
import { ApiServer } from "../../services/sandbox/apiserver/apiserver.ts";
import { VirtualClock } from "../support/clock.virtual.ts";
import { seededRandom } from "../support/random.seeded.ts";

const FILE = readFileSync(join(import.meta.dirname, "../../deploy/crd/nodepolicies.yaml"), "utf8");
const RIGHT = { selector: { matchLabels: { pool: "gpu" } } };

interface Described {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
}

/** The fields of a schema, and those of them without a meaning, by their paths. */
function meaningsOf({ properties = {}, items }: Described, path: string): Record<"named" | "silent", string[]> {
  const fields = Object.entries(properties).map(([name, field]) => {
    const own = path === "" ? name : `${path}.${name}`;
    const below = meaningsOf(field, own);
    const silent = field.description === undefined ? [own] : [];
    return { named: [own, ...below.named], silent: [...silent, ...below.silent] };
  });
  const entries = items === undefined ? [] : [meaningsOf(items, `${path}[]`)];
  const all = [...fields, ...entries];
  return { named: all.flatMap(({ named }) => named), silent: all.flatMap(({ silent }) => silent) };
}

describe("deploy/crd/nodepolicies.yaml", () => {
  let clock: VirtualClock;
  let api: ApiServer;

  function post(path: string, object: unknown): { readonly status: number; readonly text: string } {
    const answer = { status: 0, text: "" };
    const headers = { "content-type": "application/json", accept: "application/json" };
    api.wire.send(
      { method: "POST", path, headers, body: JSON.stringify(object) },
      {
        response: (status) => {
          answer.status = status;
        },
        data: (chunk) => {
          answer.text += new TextDecoder().decode(chunk);
        },
        end: () => {},
        failed: () => {},
      },
    );
    clock.advance(10);
    return answer;
  }

  const create = (spec: unknown, name = "gpu") =>
    post("/apis/vigil.io/v1alpha1/nodepolicies", {
      apiVersion: "vigil.io/v1alpha1",
      kind: "NodePolicy",
      metadata: { name },
      spec,
    });

  beforeAll(() => {
    clock = new VirtualClock();
    api = new ApiServer({ clock, random: seededRandom(1) });
    expect(post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", parse(FILE))).toMatchObject({ status: 201 });
    clock.advance(10_000);
  });

  test("follows the schema; npm run fix writes it", () => expect(FILE).toBe(nodePolicyDefinitionText()));

  test("has a category, a mode and wide columns", () => {
    const { text } = create({ selector: { matchLabels: { pool: "gpu" } } }, "without-mode");
    expect(JSON.parse(text).spec.mode).toBe("Enforce");
    const { names, versions } = parse(FILE).spec;
    expect(names.categories).toEqual(["vigil"]);
    const wide = versions[0].additionalPrinterColumns.filter(({ priority }: { priority?: number }) => priority === 1);
    expect(wide.map(({ name }: { name: string }) => name)).toEqual([
      "Counted",
      "Breaker until",
      "Frozen until",
      "Message",
    ]);
  });

  test("says what each field means", () => {
    const { spec } = parse(FILE).spec.versions[0].schema.openAPIV3Schema.properties;
    const { named, silent } = meaningsOf(spec, "");
    expect(silent).toEqual([]);
    expect(named.toSorted()).toEqual(Object.keys(NODE_POLICY_MEANINGS).toSorted());
  });

  test("accepts counts as numbers and as percentages", () => {
    expect(create({ ...RIGHT, maxUnhealthy: "20%", budgets: [{ nodes: 1 }, { nodes: "10%" }] }).status).toBe(201);
  });

  test.each<[object, string]>([
    [{}, "spec.selector"],
    [{ ...RIGHT, mode: "freeze" }, "spec.mode"],
    [{ ...RIGHT, nodeMonitorGracePeriod: "20" }, "spec.nodeMonitorGracePeriod"],
    [{ ...RIGHT, maxUnhealthy: "120%" }, "spec.maxUnhealthy"],
    [{ ...RIGHT, unhealthyZoneThreshold: 2 }, "spec.unhealthyZoneThreshold"],
    [{ ...RIGHT, circuitBreaker: { maxNodes: 5 } }, "spec.circuitBreaker.duration"],
  ])("refuses %j", (spec, field) => {
    const { status, text } = create(spec, "wrong");
    expect(status).toBe(422);
    expect(text).toContain(field);
  });
});
