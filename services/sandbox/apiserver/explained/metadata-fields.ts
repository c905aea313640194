/** What `kubectl explain` says about the fields that objects of several kinds share. Data. */
import {
  type Definitions,
  define,
  type Field,
  integer,
  listOf,
  of,
  text,
  textList,
  texts,
  time,
  truth,
} from "./field.ts";

/** The fields of every object. */
export const OBJECT_FIELDS: Readonly<Record<string, Field>> = {
  apiVersion: text("The group and version of the API that this object is written in, such as v1 or apps/v1."),
  kind: text("The kind of the object, such as Node."),
  metadata: of("ObjectMeta", "The name, labels and annotations of the object, and what the server records about it."),
};

/** Metadata, selectors and conditions. */
export const SHARED: Definitions = {
  IntOrString: { oneOf: [{ type: "integer" }, { type: "string" }], format: "int-or-string" },
  ObjectMeta: define("What every object has: its name, its labels, and what the server records about it.", {
    name: text("The name, unique for the kind within the namespace. It cannot be changed."),
    generateName: text("A prefix from which the server makes the name when `name` is empty."),
    namespace: text("The namespace; empty for kinds that have none, such as Node. It cannot be changed."),
    uid: text("The identity of this object. One that is created again under the same name has another."),
    resourceVersion: text("Changes with every write. A write that gives an old one is refused with a conflict."),
    generation: integer("Counts the changes of the desired state, for the kinds that count them."),
    creationTimestamp: time("When the object was created. Set by the server."),
    deletionTimestamp: time(
      "When the object was, or will be, deleted. Set by the server; deletion cannot be taken back.",
    ),
    deletionGracePeriodSeconds: integer("How many seconds the object may take to end before it is removed."),
    labels: texts("Names and values by which selectors find the object."),
    annotations: texts("Names and values for programs; selectors do not see them."),
    ownerReferences: listOf("OwnerReference", "The objects that this one belongs to, such as the ReplicaSet of a pod."),
    finalizers: textList("Programs that have to let go of the object before it is removed."),
  }),
  OwnerReference: define(
    "An object that another one belongs to.",
    {
      apiVersion: text("The API version of the owner."),
      kind: text("The kind of the owner."),
      name: text("The name of the owner."),
      uid: text("The identity of the owner."),
      controller: truth("Whether the owner controls the object; at most one owner does."),
      blockOwnerDeletion: truth("Whether the owner waits for this object when both are deleted together."),
    },
    "apiVersion",
    "kind",
    "name",
    "uid",
  ),
  LabelSelector: define("Which objects are meant, by their labels. Every given term must hold.", {
    matchLabels: texts("Labels that an object must have, with these values."),
    matchExpressions: listOf("LabelSelectorRequirement", "Conditions on labels."),
  }),
  LabelSelectorRequirement: define(
    "A condition on one label.",
    {
      key: text("The label."),
      operator: text("In, NotIn, Exists or DoesNotExist."),
      values: textList("The values for In and NotIn; empty for the other two."),
    },
    "key",
    "operator",
  ),
  ObjectReference: define("Names another object.", {
    kind: text("Its kind."),
    namespace: text("Its namespace; empty for kinds that have none."),
    name: text("Its name."),
    uid: text("Its identity. Events about a node have the node's name here."),
    apiVersion: text("Its API version."),
    resourceVersion: text("Its version when the reference was made."),
    fieldPath: text("The part of it that is meant, such as one container."),
  }),
};
