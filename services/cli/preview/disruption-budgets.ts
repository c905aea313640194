/** The PodDisruptionBudgets of a snapshot, as the API server has counted them, each with the pods that it protects. */
import type { BoundPod, Kube, KubeObject, ObjectRef } from "../../../protocols/ports.ts";
import { selects } from "../../domain/node-policy.ts";
import { isObject } from "../../sandbox/apiserver/api-objects.ts";
import { selectorIn } from "../../sandbox/apiserver/store/label-selector.ts";
import { listOf, recordOf, textOf } from "../../structures/json.ts";

/** A budget, as the API server has counted it. */
export interface DisruptionBudget {
  /** As `namespace/name`. */
  readonly name: string;
  /** The uids of the pods that it selects. */
  readonly pods: ReadonlySet<string>;
  /** Those of them that count as healthy. */
  readonly healthy: ReadonlySet<string>;
  readonly healthyCount: number;
  readonly needed: number;
  /** Whether it lets no healthy pod go, whatever its counts: they are out of date, or could not be made. */
  readonly isShut: boolean;
  /** Whether it protects no pod that is not ready. */
  readonly freesUnready: boolean;
}

/** The versions of the resource, the newest first. */
const VERSIONS = ["v1", "v1beta1"] as const;

/** Where budgets are read. */
export interface BudgetSources {
  readonly kube: Pick<Kube, "read">;
  readonly pods: readonly BoundPod[];
  /** Whether the pods of a node are evicted through the Eviction API. */
  readonly evictsOn: (node: string) => boolean;
}

/** Reads the budgets of the namespaces in which pods may be evicted; null where they cannot be read. */
export function readBudgets(
  { kube, pods, evictsOn }: BudgetSources,
  done: (budgets: readonly DisruptionBudget[] | null) => void,
): void {
  const asked = new Set(pods.flatMap(({ node, pod }) => (evictsOn(node) ? [pod.namespace] : [])));
  if (asked.size === 0) done([]);
  else {
    readList(kube, VERSIONS.map(budgetsOfVersion), (found, from) => {
      const isSelecting = (budget: KubeObject): boolean => from?.resource?.version !== "v1beta1" || !selectsAll(budget);
      const raw = found?.filter((each) => asked.has(namespaceOf(each)) && isSelecting(each)) ?? null;
      if (raw === null) done(null);
      else readSelected(kube, { raw, pods, namespaces: [...new Set(raw.map(namespaceOf))] }, [], done);
    });
  }
}

/** Whether a budget has an empty selector, which selects every pod in v1 and none in v1beta1. */
function selectsAll(budget: KubeObject): boolean {
  const { selector } = recordOf(budget.spec);
  return isObject(selector) && selectorIn(selector).length === 0;
}

function budgetsOfVersion(version: string): ObjectRef {
  const resource = { group: "policy", version, plural: "poddisruptionbudgets" };
  return { kind: "CustomResource", namespace: "", name: "", resource };
}

/** Reads the first of these collections that the API server has; null where it has none or denies it. */
function readList(
  kube: Pick<Kube, "read">,
  [ref, ...others]: readonly ObjectRef[],
  done: (items: readonly KubeObject[] | null, from?: ObjectRef) => void,
): void {
  if (ref === undefined) done(null);
  else {
    kube.read(ref, (reply) => {
      if (reply.outcome === "ok") done(listOf(reply.object.items).filter(isNamed), ref);
      else if (reply.outcome === "gone") readList(kube, others, done);
      else done(null);
    });
  }
}

function isNamed(item: unknown): item is KubeObject {
  return textOf(recordOf(recordOf(item).metadata).name) !== null;
}

function namespaceOf({ metadata }: KubeObject): string {
  return metadata.namespace ?? "";
}

/** Budgets as the API server sent them, and the namespaces whose pods are not matched with them yet. */
interface UnselectedBudgets extends Pick<BudgetSources, "pods"> {
  readonly raw: readonly KubeObject[];
  readonly namespaces: readonly string[];
}

/** Reads the labels of the pods, one namespace after the other. */
function readSelected(
  kube: Pick<Kube, "read">,
  { raw, pods, namespaces }: UnselectedBudgets,
  found: readonly DisruptionBudget[],
  done: (budgets: readonly DisruptionBudget[] | null) => void,
): void {
  const [namespace, ...others] = namespaces;
  if (namespace === undefined) done(found);
  else {
    readList(kube, [{ kind: "Pod", namespace, name: "" }], (labelled) => {
      if (labelled === null) done(null);
      else {
        const bound = pods.filter(({ pod }) => pod.namespace === namespace);
        const here = raw.filter((budget) => namespaceOf(budget) === namespace);
        const budgets = here.map((budget) => budgetOf(budget, bound, labelled));
        readSelected(kube, { raw, pods, namespaces: others }, [...found, ...budgets], done);
      }
    });
  }
}

/** A budget with those of these pods that it selects by the labels that the API shows. */
function budgetOf(raw: KubeObject, bound: readonly BoundPod[], labelled: readonly KubeObject[]): DisruptionBudget {
  const { name, generation } = raw.metadata;
  const [spec, status] = [recordOf(raw.spec), recordOf(raw.status)];
  const selector = selectorIn(isObject(spec.selector) ? spec.selector : undefined);
  const selected = labelled.filter((pod) => selects(selector, labelsOf(pod)));
  const pods = new Set(selected.flatMap(({ metadata: { uid } }) => (uid === undefined ? [] : [uid])));
  const disrupted = recordOf(status.disruptedPods);
  const healthy = bound.filter(({ pod }) => pods.has(pod.uid) && isHealthy(pod) && !Object.hasOwn(disrupted, pod.name));
  const [healthyCount, needed] = [numberOf(status.currentHealthy), numberOf(status.desiredHealthy)];
  const isOutdated = numberOf(status.observedGeneration) < numberOf(generation);
  return {
    name: `${namespaceOf(raw)}/${name}`,
    pods,
    healthy: new Set(healthy.map(({ pod }) => pod.uid)),
    healthyCount,
    needed,
    isShut: isOutdated || numberOf(status.disruptionsAllowed) < healthyCount - needed,
    freesUnready: spec.unhealthyPodEvictionPolicy === "AlwaysAllow",
  };
}

function labelsOf({ metadata }: KubeObject): Readonly<Record<string, string>> {
  const labels = Object.entries(recordOf(metadata.labels));
  return Object.fromEntries(labels.filter((label): label is [string, string] => typeof label[1] === "string"));
}

function isHealthy({ ready, deletionAt }: BoundPod["pod"]): boolean {
  return ready === "True" && deletionAt === null;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
