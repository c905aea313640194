/** What `kubectl explain` says about Deployments, ReplicaSets and DaemonSets. Data. */
import {
  amount,
  type Definitions,
  define,
  type Field,
  integer,
  listOf,
  of,
  oneOf,
  text,
  texts,
  time,
} from "./field.ts";
import { OBJECT_FIELDS } from "./metadata-fields.ts";

const selector = of("LabelSelector", "The pods that belong to it; the labels of the template have to match.");
const template = of("PodTemplateSpec", "From which the pods are made.");
const replicas = integer("How many pods there shall be; 1 if unset.");

/** The counts that Deployments and ReplicaSets report. */
const COUNTS: Readonly<Record<string, Field>> = {
  observedGeneration: integer("The generation for which these counts hold."),
  replicas: integer("How many pods there are."),
  readyReplicas: integer("How many of them are Ready."),
  availableReplicas: integer("How many of them are available."),
};

const DEPLOYMENTS: Definitions = {
  Deployment: define("Keeps a number of like pods, and replaces them step by step when their template changes.", {
    ...OBJECT_FIELDS,
    spec: of("DeploymentSpec", "The pods, how many of them, and how they are replaced."),
    status: of("DeploymentStatus", "How many of the pods are there."),
  }),
  DeploymentSpec: define(
    "What is wanted of a Deployment.",
    {
      replicas,
      selector,
      template,
      strategy: of("DeploymentStrategy", "How the pods of an earlier template are replaced."),
      revisionHistoryLimit: integer("How many earlier ReplicaSets are to be kept; 10 if unset."),
      progressDeadlineSeconds: integer(
        "After how many seconds without progress a rollout counts as failed; 600 if unset.",
      ),
    },
    "selector",
    "template",
  ),
  DeploymentStrategy: define("Kept but not heeded here: an earlier pod goes for each new one that is Ready.", {
    type: oneOf("RollingUpdate if unset.", "RollingUpdate", "Recreate"),
    rollingUpdate: of("RollingUpdate", "How many at once."),
  }),
  RollingUpdate: define("How many pods are replaced at once.", {
    maxUnavailable: amount("How many pods may be missing: a number, or a percentage."),
    maxSurge: amount("How many pods there may be beyond the wanted number: a number, or a percentage."),
  }),
  DeploymentStatus: define("How far a Deployment is.", {
    ...COUNTS,
    updatedReplicas: integer("How many pods are made from the present template."),
    unavailableReplicas: integer("How many pods are missing."),
    conditions: listOf("DeploymentCondition", "Whether it is Available, and Progressing."),
  }),
  DeploymentCondition: define("One thing that is said about a Deployment.", {
    type: text("Available or Progressing."),
    status: oneOf("Whether it holds.", "True", "False", "Unknown"),
    reason: text("Why, in one word."),
    message: text("Why, in words for people."),
    lastUpdateTime: time("When it was last set."),
    lastTransitionTime: time("When the status last changed."),
  }),
};

/** Deployments, ReplicaSets and DaemonSets. */
export const WORKLOADS: Definitions = {
  ...DEPLOYMENTS,
  ReplicaSet: define("Keeps a number of like pods. Evicted ones come back on other nodes.", {
    ...OBJECT_FIELDS,
    spec: of("ReplicaSetSpec", "The pods, and how many of them."),
    status: of("ReplicaSetStatus", "How many of the pods are there."),
  }),
  ReplicaSetSpec: define("What is wanted of a ReplicaSet.", { replicas, selector, template }, "selector"),
  ReplicaSetStatus: define("How many pods a ReplicaSet has.", {
    ...COUNTS,
    fullyLabeledReplicas: integer("How many of them have all labels of the template."),
  }),
  DaemonSet: define("One pod on each node. The embedded API stores it and starts no pods for it.", {
    ...OBJECT_FIELDS,
    spec: of("DaemonSetSpec", "The pods."),
    status: of("DaemonSetStatus", "How many nodes have one."),
  }),
  DaemonSetSpec: define(
    "What is wanted of a DaemonSet.",
    {
      selector,
      template,
      updateStrategy: of("DeploymentStrategy", "How the pods of an earlier template are replaced."),
      revisionHistoryLimit: integer("How many earlier templates are kept; 10 if unset."),
    },
    "selector",
    "template",
  ),
  DaemonSetStatus: define("How many nodes have a pod of a DaemonSet.", {
    currentNumberScheduled: integer("How many nodes have one and should."),
    numberMisscheduled: integer("How many nodes have one and should not."),
    desiredNumberScheduled: integer("How many nodes should have one."),
    numberReady: integer("How many of the pods are Ready."),
    observedGeneration: integer("The generation for which these counts hold."),
    updatedNumberScheduled: integer("How many pods are made from the present template."),
    numberAvailable: integer("How many nodes have an available one."),
    numberUnavailable: integer("How many nodes lack an available one."),
  }),
};

/** Kinds without behaviour of their own. */
export const STORED_KINDS: Definitions = {
  ConfigMap: define("Texts by name, for programs. All together at most 1 MiB.", {
    ...OBJECT_FIELDS,
    immutable: { type: "boolean", description: "Whether the contents can no longer be changed." },
    data: texts("The texts by name."),
    binaryData: texts("Bytes by name, as base64."),
  }),
  ServiceAccount: define(
    "An account as which pods talk to the API. The embedded API stores it; everybody may do all.",
    {
      ...OBJECT_FIELDS,
    },
  ),
};
