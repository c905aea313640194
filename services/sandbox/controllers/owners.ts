/** Owner references: which object controls another, and what is deleted with its owner. */
import { type ApiObject, childList, type JsonObject, textOf } from "../apiserver/api-objects.ts";
import { type BuiltInStorage, storedAs } from "../apiserver/resources.ts";
import { type Cluster, keyOf, PLAIN_DELETE } from "./cluster.ts";
import { WorkQueue } from "./work-queue.ts";

/** The reference by which an object controls what it creates. */
export function controllerReference({ apiVersion, kind, metadata }: ApiObject): JsonObject {
  const { name, uid = "" } = metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** The reference to the controller of an object; null without one. */
export function controllerOf({ metadata }: ApiObject): JsonObject | null {
  return childList(metadata, "ownerReferences").find(({ controller }) => controller === true) ?? null;
}

/** The objects of a collection that an object controls. */
export function controlledBy(cluster: Cluster, storage: BuiltInStorage, { metadata }: ApiObject): ApiObject[] {
  const { namespace = "", uid = "" } = metadata;
  return cluster
    .objectsWith(storage, namespace, uid)
    .filter((object) => textOf(controllerOf(object) ?? {}, "uid") === uid);
}

/** Reconciles the objects of a kind just after they, or what they control, have changed. */
export function reconcileOwners(
  cluster: Cluster,
  { owner, kind, owned }: { readonly owner: BuiltInStorage; readonly kind: string; readonly owned: BuiltInStorage },
  reconcile: (object: ApiObject) => void,
): void {
  const queue = new WorkQueue(cluster.clock, (key) => {
    const object = cluster.object(owner, key);
    if (object !== null && object.metadata.deletionTimestamp === undefined) reconcile(object);
  });
  cluster.follow(owner, ({ now }) => queue.add(keyOf(now)));
  cluster.follow(owned, ({ now }) => {
    if (cluster.collection(owner).size === 0 || !now.json.includes(kind)) return;
    const controller = controllerOf(now.object());
    if (controller?.kind === kind) queue.add(`${now.namespace}/${textOf(controller, "name")}`);
  });
}

/** What each kind of owner controls. */
const CONTROLLED: readonly (readonly [owner: BuiltInStorage, owned: BuiltInStorage])[] = [
  ["deployments", "replicasets"],
  ["replicasets", "pods"],
  ["daemonsets", "pods"],
];

/** Deletes what a deleted object controlled, in the background, as `kubectl delete` requests by default. */
export function startGarbageCollector(cluster: Cluster): void {
  for (const [owner, owned] of CONTROLLED) {
    cluster.follow(owner, ({ type, now }) => {
      if (type === "DELETED") cluster.clock.soon(() => deleteControlled(cluster, owned, now.object()));
    });
  }
}

function deleteControlled(cluster: Cluster, owned: BuiltInStorage, owner: ApiObject): void {
  for (const { metadata } of controlledBy(cluster, owned, owner)) {
    const { namespace = "", name } = metadata;
    if (cluster.object(owned, keyOf(metadata)) === null) continue;
    cluster.registry.delete({ resource: storedAs(owned), namespace, name }, PLAIN_DELETE);
  }
}
