/**
 * People who let policies remediate nodes, and the controllers of two kinds of remediations: they succeed on machines
 * that are off, fail, or never answer. They know no rule of Vigil.
 */
import type { Random, Stop } from "../../../protocols/ports.ts";
import { apiTime } from "../../../services/domain/api-time.ts";
import type { ApiObject, JsonObject } from "../../../services/sandbox/apiserver/api-objects.ts";
import { type StorageName, storedAs } from "../../../services/sandbox/apiserver/resources.ts";
import { oneOf } from "../chance.ts";
import { type Reach, repeatedly } from "../meddler.ts";
import type { World } from "../world.ts";
import { POLICIES_STORAGE } from "./api-policies.ts";
import { POOL_LABEL, POOLS } from "./pools.ts";

const GROUP = "remedy.example.com";
const NAMESPACE = "default";
const KINDS = ["Reboot", "PowerOff"] as const;
const EVERY_MS = 5_000;

/** The collections of the objects that Vigil makes. */
export const REMEDIATION_STORAGES: readonly StorageName[] = KINDS.map((kind) => storageOf(kind));

function storageOf(kind: string): StorageName {
  return `${kind.toLowerCase()}s.${GROUP}`;
}

/** Serves both kinds and their templates in a world. */
export function defineRemediations(world: World): void {
  for (const kind of KINDS.flatMap((each) => [each, `${each}Template`])) {
    const plural = `${kind.toLowerCase()}s`;
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const version = { name: "v1alpha1", served: true, storage: true, subresources: { status: {} }, schema };
    const names = { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` };
    const definition: ApiObject = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: storageOf(kind) },
      spec: { group: GROUP, scope: "Namespaced", names, versions: [version] },
    };
    world.asWorld(() => world.api.registry.create(storedAs("customresourcedefinitions"), "", definition));
  }
}

/** Starts them. The returned function ends their work; the objects of healthy nodes go on being deleted. */
export function remediateNodes(reach: Reach, random: Random): Stop {
  reach.world.asWorld(() => makeTemplates(reach.world));
  const pauseMs = (): number => EVERY_MS * (0.5 + random());
  return repeatedly(reach.world.clock, pauseMs, () => act(reach, random));
}

/** The templates, and a policy that selects no node. It names both kinds as long as the run lasts. */
function makeTemplates({ api }: World): void {
  for (const kind of KINDS) {
    const [resource] = api.catalog.customAt(storageOf(`${kind}Template`));
    if (resource === undefined) throw new Error("a run with remediations serves their templates");
    api.registry.create(resource, NAMESPACE, {
      apiVersion: `${GROUP}/v1alpha1`,
      kind: `${kind}Template`,
      metadata: { name: "standard", namespace: NAMESPACE },
      spec: { template: { spec: { strategy: "Automatic" } } },
    });
  }
  const [policies] = api.catalog.customAt(POLICIES_STORAGE);
  if (policies === undefined) throw new Error("a run with policies serves them");
  const spec = { selector: { matchLabels: { [POOL_LABEL]: "none" } }, remediations: stepsOf("1m") };
  const object = { apiVersion: "vigil.io/v1alpha1", kind: "NodePolicy", metadata: { name: "none" }, spec };
  api.registry.create(policies, "", object);
}

function stepsOf(timeout: string): JsonObject[] {
  return KINDS.map((kind) => ({
    timeout,
    template: { apiVersion: `${GROUP}/v1alpha1`, kind: `${kind}Template`, namespace: NAMESPACE, name: "standard" },
  }));
}

function act(reach: Reach, random: Random): void {
  const { world } = reach;
  if (random() < 0.4) {
    allow(world, oneOf(random, POOLS), { remediations: stepsOf(oneOf(random, ["10s", "30s", "2m"])) });
    const proof = { outOfService: { after: "1s", proof: ["RemediationSucceeded", "Manual"] } };
    if (random() < 0.3) allow(world, oneOf(random, POOLS), proof);
    return;
  }
  const storage = oneOf(random, REMEDIATION_STORAGES);
  for (const { name } of world.api.store.collection(storage).sorted("").slice(0, 3)) {
    const isOff = world.kubelets.get(name)?.alive === false;
    report(reach, { storage, name, status: random() < 0.6 && isOff ? "True" : oneOf(random, ["False", "Unknown"]) });
  }
}

interface Report {
  readonly storage: StorageName;
  readonly name: string;
  readonly status: string;
}

/** The controller of a kind reports how far it is. */
function report({ world, count }: Reach, { storage, name, status }: Report): void {
  const [resource] = world.api.catalog.customAt(storage);
  if (resource === undefined) return;
  count(`remediation reported ${status}`);
  const lastTransitionTime = apiTime(world.clock.wallMs());
  const conditions = [{ type: "Succeeded", status, reason: "Test", message: "", lastTransitionTime }];
  world.asWorld(() =>
    world.api.registry.update({ resource, namespace: NAMESPACE, name }, "status", (object) => {
      return { ...object, status: { conditions } };
    }),
  );
}

/** Gives a policy more fields, where there is one. */
function allow(world: World, name: string, fields: JsonObject): void {
  const [resource] = world.api.catalog.customAt(POLICIES_STORAGE);
  if (resource === undefined || world.api.store.collection(POLICIES_STORAGE).get("", name) === undefined) return;
  world.asWorld(() =>
    world.api.registry.update({ resource, namespace: "", name }, "main", (object) => {
      return { ...object, spec: { ...((object.spec ?? {}) as JsonObject), ...fields } };
    }),
  );
}
