/** Ends namespaces: deletes everything in a terminating one, and then lets it go. */
import { storedAs } from "../apiserver/resources.ts";
import { onNextChange } from "../apiserver/store/store.ts";
import { type Cluster, PLAIN_DELETE } from "./cluster.ts";
import { WorkQueue } from "./work-queue.ts";

const NAMESPACES = storedAs("namespaces");

/** Follows the namespaces of a cluster. */
export function startNamespaces(cluster: Cluster): void {
  const queue = new WorkQueue(cluster.clock, (name) => {
    const namespace = cluster.object(NAMESPACES.storage, `/${name}`);
    if (namespace?.metadata.deletionTimestamp !== undefined) empty(name);
  });
  const empty = (namespace: string): void => {
    for (const resource of cluster.namespaced) {
      for (const { name, terminating } of cluster.collection(resource.storage).sorted(namespace)) {
        if (!terminating) cluster.registry.delete({ resource, namespace, name }, PLAIN_DELETE);
      }
    }
    const left = cluster.namespaced
      .map(({ storage }) => cluster.collection(storage))
      .filter((collection) => collection.sorted(namespace).length > 0);
    if (left.length > 0) onNextChange(left, () => queue.add(namespace));
    else finalise(namespace);
  };
  const finalise = (name: string): void => {
    const place = { resource: NAMESPACES, namespace: "", name };
    cluster.registry.update(place, "main", (before) => ({ ...before, spec: {} }));
  };
  cluster.follow(NAMESPACES.storage, ({ now }) => {
    if (now.terminating) queue.add(now.name);
  });
}
