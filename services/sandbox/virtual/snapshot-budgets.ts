/** Reads the PodDisruptionBudgets of a cluster, as its API server has counted them, each with the pods it protects. */
import type { BoundPod, Kube, KubeObject, ObjectRef } from "../../../protocols/ports.ts";
import { selects } from "../../domain/node-policy.ts";
import { listOf, recordOf, textOf } from "../../structures/json.ts";
import { isObject } from "../apiserver/api-objects.ts";
import { countedBudget } from "../apiserver/store/eviction.ts";
import { selectorIn } from "../apiserver/store/label-selector.ts";
import type { DisruptionBudget } from "./budgeted-kube.ts";

/** The versions of the resource, the newest first. */
const VERSIONS = ["v1", "v1beta1"] as const;

/** Calls `done` with the items of a list, or with null where they cannot be read. */
type ReadList = (ref: ObjectRef, done: (items: readonly KubeObject[] | null, outcome: string) => void) => void;

/** Where budgets are read, and the pods that they may select. */
interface BudgetSources {
  readonly namespaces: ReadonlySet<string>;
  readonly pods: readonly BoundPod[];
}

/** Reads the budgets of some namespaces; null where they cannot be read. */
export function readBudgets(
  kube: Pick<Kube, "read">,
  { namespaces, pods }: BudgetSources,
  done: (budgets: readonly DisruptionBudget[] | null) => void,
): void {
  const read: ReadList = (ref, listed) =>
    kube.read(ref, (reply) => {
      listed(reply.outcome === "ok" ? listOf(reply.object.items).filter(isNamed) : null, reply.outcome);
    });
  if (namespaces.size === 0) done([]);
  else {
    readObjects(read, VERSIONS, (found) => {
      const objects = found?.filter((budget) => namespaces.has(namespaceOf(budget)));
      if (objects === undefined) done(null);
      else readSelected(read, [...Map.groupBy(objects, namespaceOf)], pods, done);
    });
  }
}

function namespaceOf({ metadata }: KubeObject): string {
  return metadata.namespace ?? "";
}

function isNamed(item: unknown): item is KubeObject {
  return textOf(recordOf(recordOf(item).metadata).name) !== null;
}

/** Reads the objects in the first version that the server has. An empty selector of v1beta1 selects nothing. */
function readObjects(
  read: ReadList,
  [version, ...older]: readonly string[],
  done: (objects: readonly KubeObject[] | null) => void,
): void {
  if (version === undefined) done(null);
  else {
    const resource = { group: "policy", version, plural: "poddisruptionbudgets" };
    read({ kind: "CustomResource", namespace: "", name: "", resource }, (objects, outcome) => {
      if (outcome === "gone") readObjects(read, older, done);
      else done(objects?.filter((budget) => version !== "v1beta1" || selectorOf(budget).length > 0) ?? null);
    });
  }
}

function selectorOf({ spec }: KubeObject): ReturnType<typeof selectorIn> {
  const { selector } = recordOf(spec);
  return selectorIn(isObject(selector) ? selector : undefined);
}

/** Reads the labels of the pods, one namespace after the other. */
function readSelected(
  read: ReadList,
  [first, ...others]: readonly (readonly [namespace: string, objects: readonly KubeObject[]])[],
  pods: readonly BoundPod[],
  done: (budgets: readonly DisruptionBudget[] | null) => void,
): void {
  if (first === undefined) done([]);
  else {
    const [namespace, objects] = first;
    read({ kind: "Pod", namespace, name: "" }, (labelled) => {
      if (labelled === null) done(null);
      else {
        const bound = pods.filter(({ pod }) => pod.namespace === namespace);
        const budgets = objects.map((budget) => budgetOf(budget, bound, labelled));
        readSelected(read, others, pods, (found) => done(found === null ? null : [...budgets, ...found]));
      }
    });
  }
}

/** A budget with those of these pods that it selects by the labels that the API shows. */
function budgetOf(raw: KubeObject, bound: readonly BoundPod[], labelled: readonly KubeObject[]): DisruptionBudget {
  const selector = selectorOf(raw);
  const selected = new Set(
    labelled.filter((pod) => selects(selector, labelsOf(pod))).map(({ metadata: { uid } }) => uid),
  );
  const pods = bound.flatMap(({ pod }) => (selected.has(pod.uid) ? [pod] : []));
  const disrupted = recordOf(recordOf(raw.status).disruptedPods);
  const healthy = pods.filter(
    ({ name, ready, deletionAt }) => ready === "True" && deletionAt === null && !Object.hasOwn(disrupted, name),
  );
  return {
    name: `${namespaceOf(raw)}/${raw.metadata.name}`,
    counted: countedBudget(raw),
    pods: new Map(pods.map((pod) => [pod.uid, pod])),
    healthy: new Set(healthy.map(({ uid }) => uid)),
  };
}

function labelsOf({ metadata }: KubeObject): Readonly<Record<string, string>> {
  const labels = Object.entries(recordOf(metadata.labels));
  return Object.fromEntries(labels.filter((label): label is [string, string] => typeof label[1] === "string"));
}
