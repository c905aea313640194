/** A freeze moves from one place to another while the watch of the new place lags behind. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import { type ObjectRef, Urgency } from "../../protocols/ports.ts";
import { EvictionWorld } from "../support/eviction-world.ts";

const S = 1000;
const LAG_MS = 20 * S;
const DEFINITION = parse(readFileSync(join(import.meta.dirname, "../../deploy/crd/nodepolicies.yaml"), "utf8"));
const DEFINITIONS = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };
const GPU: ObjectRef = { kind: "NodePolicy", namespace: "", name: "gpu" };
const FREEZING = { selector: {}, pauseRequests: [{ name: "oncall" }] };

let world: EvictionWorld;

beforeEach(() => {
  world = new EvictionWorld({}, []);
  const ref = { kind: "CustomResource", namespace: "", name: DEFINITION.metadata.name, resource: DEFINITIONS } as const;
  world.write({ verb: "create", ref, urgency: Urgency.status, body: DEFINITION });
  world.addZone("a", 6);
  world.run();
  world.advance(30 * S);
});

function freezeByPolicy(): void {
  applyPolicy(FREEZING);
}

function applyPolicy(spec: object): void {
  const body = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "gpu" }, spec };
  world.write({ verb: "create", ref: GPU, urgency: Urgency.status, body });
}

function freezeAll(): void {
  const { namespace, name } = FREEZE_CONFIG_MAP;
  const data = { pauseRequests: JSON.stringify([{ name: "oncall" }]) };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
  const { outcome } = world.write({ verb: "create", ref: FREEZE_CONFIG_MAP, urgency: Urgency.status, body });
  if (outcome === "exists") world.patch(FREEZE_CONFIG_MAP, { data });
}

/** A node falls silent, and would be tainted soon if it were not frozen. */
function failANode(): void {
  world.advance(10 * S);
  world.silence(["a-0"]);
  world.advance(120 * S);
  expect(world.tainted).toEqual([]);
}

describe("a frozen node is not tainted", () => {
  test("when the ConfigMap lags behind the policy", () => {
    freezeByPolicy();
    failANode();
    world.api.faults.lagWatches("configmaps", LAG_MS);
    world.advance(1 * S);
    freezeAll();
    world.advance(5 * S);
    world.write({ verb: "delete", ref: GPU, urgency: Urgency.status });
    world.advance(600 * S);
    expect(world.tainted).toEqual([]);
  });

  test("when the policies lag behind the ConfigMap", () => {
    freezeAll();
    failANode();
    world.api.faults.lagWatches("nodepolicies.vigil.io", LAG_MS);
    world.advance(1 * S);
    freezeByPolicy();
    world.advance(5 * S);
    world.patch(FREEZE_CONFIG_MAP, { data: { pauseRequests: "[]" } });
    world.advance(600 * S);
    expect(world.tainted).toEqual([]);
  });
});

describe("while the ConfigMap cannot be read", () => {
  const denyReads = () =>
    world.api.faults.add({
      fault: { kind: "status", code: 500 },
      when: ({ verb, resource }) => verb === "get" && resource.plural === "configmaps",
    });

  test("the freeze of a policy that is gone holds", () => {
    freezeByPolicy();
    failANode();
    const mended = denyReads();
    world.write({ verb: "delete", ref: GPU, urgency: Urgency.status });
    world.advance(120 * S);
    expect(world.tainted).toEqual([]);
    mended();
    world.advance(30 * S);
    expect(world.tainted).toHaveLength(1);
  });

  test("a new freeze holds at once", () => {
    applyPolicy({ selector: {} });
    world.advance(10 * S);
    denyReads();
    world.write({ verb: "delete", ref: GPU, urgency: Urgency.status });
    freezeAll();
    failANode();
  });
});
