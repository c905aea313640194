/** The objects that a list or a watch selects. Only objects whose selected fields are in the JSON are parsed. */

import type { LabelRequirement } from "../../../../protocols/policy-set.ts";
import { satisfies, selects } from "../../../domain/node-policy.ts";
import type { Resource } from "../resources.ts";
import { checkFields, fieldsOf } from "./fields.ts";
import { labelsOf } from "./label-selector.ts";
import { demanded, fieldSelector, labelSelector, type Selector } from "./selectors.ts";
import type { Collection } from "./store.ts";
import type { Stored } from "./stored.ts";

/** The selected objects. */
export interface Selection {
  readonly resource: Resource;
  /** "" for all namespaces. */
  readonly namespace: string;
  readonly labels: Selector;
  /** Terms about fields that the store keeps beside the JSON. */
  readonly kept: readonly { readonly term: LabelRequirement; readonly read: (stored: Stored) => string }[];
  /** Terms about fields that only the JSON has. */
  readonly fields: Selector;
}

type Kept = Readonly<Record<string, (stored: Stored) => string>>;

/** Fields that the store keeps beside the JSON. */
const KEPT: Kept = {
  "metadata.name": (stored) => stored.name,
  "metadata.namespace": (stored) => stored.namespace,
};
const KEPT_OF_PODS: Kept = {
  ...KEPT,
  "spec.nodeName": (stored) => stored.node,
  "status.phase": (stored) => stored.phase,
};

/** The selection of a query. Throws a 400 for a malformed selector. */
export function selectionOf(resource: Resource, namespace: string, query: URLSearchParams): Selection {
  const fields = fieldSelector(query.get("fieldSelector") ?? "");
  checkFields(resource, fields);
  const table = resource.storage === "pods" ? KEPT_OF_PODS : KEPT;
  const kept = fields.flatMap((term) => {
    const read = table[term.key];
    return read === undefined ? [] : [{ term, read }];
  });
  return {
    resource,
    namespace,
    labels: labelSelector(query.get("labelSelector") ?? ""),
    kept,
    fields: fields.filter((term) => table[term.key] === undefined),
  };
}

/** Whether the selection includes everything in its namespaces. */
export function isOpen({ labels, kept, fields }: Selection): boolean {
  return labels.length === 0 && kept.length === 0 && fields.length === 0;
}

/** Whether a version of an object is selected. */
export function isSelected(selection: Selection, stored: Stored): boolean {
  const { namespace, labels, kept, fields } = selection;
  if (namespace !== "" && stored.namespace !== namespace) return false;
  for (const { term, read } of kept) if (!satisfies(term, read(stored))) return false;
  if (labels.length === 0 && fields.length === 0) return true;
  const object = stored.object();
  return selects(labels, labelsOf(object)) && selects(fields, fieldsOf(selection.resource.storage, object));
}

/** All selected objects in order, found by the narrowest index. */
export function selected(collection: Collection, selection: Selection): Stored[] {
  const all = candidates(collection, selection);
  return isOpen(selection) ? all : all.filter((stored) => isSelected(selection, stored));
}

function candidates(collection: Collection, { resource, namespace, kept }: Selection): Stored[] {
  const terms = kept.map(({ term }) => term);
  const node = demanded(terms, "spec.nodeName");
  if (node !== null && node !== "") return collection.onNode(node);
  const name = demanded(terms, "metadata.name");
  if (name === null || (resource.namespaced && namespace === "")) return collection.sorted(namespace);
  const one = collection.get(namespace, name);
  return one === undefined ? [] : [one];
}
