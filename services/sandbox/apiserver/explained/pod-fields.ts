/** What `kubectl explain` says about pods. Data. */
import {
  amount,
  anything,
  type Definitions,
  define,
  integer,
  listOf,
  of,
  oneOf,
  text,
  textList,
  texts,
  time,
  truth,
} from "./field.ts";
import { OBJECT_FIELDS } from "./metadata-fields.ts";
import { EFFECTS } from "./node-fields.ts";

const POD: Definitions = {
  Pod: define("Containers that run together on one node.", {
    ...OBJECT_FIELDS,
    spec: of("PodSpec", "What is wanted: the containers, and on which nodes they may run."),
    status: of("PodStatus", "What the kubelet reports about the pod."),
  }),
  PodSpec: define(
    "What is wanted of a pod.",
    {
      nodeName: text("The node that the pod is bound to; empty until the scheduler has chosen one."),
      nodeSelector: texts("Labels that the node has to have."),
      tolerations: listOf(
        "Toleration",
        "The taints that the pod tolerates. The server adds 300 s for node.kubernetes.io/not-ready and node.kubernetes.io/unreachable unless the pod mentions them.",
      ),
      containers: listOf("Container", "The containers; at least one."),
      initContainers: listOf("Container", "Containers that run one after the other before the others start."),
      restartPolicy: oneOf("When containers that have ended start again.", "Always", "OnFailure", "Never"),
      terminationGracePeriodSeconds: integer(
        "How many seconds the containers have to end after a deletion; 30 if unset.",
      ),
      volumes: listOf("Volume", "Volumes that containers can mount."),
      hostNetwork: truth("Whether the pod uses the network of its node."),
      serviceAccountName: text("The account as which the pod talks to the API."),
      schedulerName: text("The scheduler that places the pod; default-scheduler if unset."),
      priority: integer("Pods of a higher priority are placed first; 0 if unset."),
      preemptionPolicy: text("Whether the pod may displace pods of a lower priority."),
      dnsPolicy: text("How names are resolved; ClusterFirst if unset."),
      enableServiceLinks: truth("Whether services become environment variables of containers."),
      securityContext: anything("With which rights all containers run."),
    },
    "containers",
  ),
  Toleration: define("Lets a pod stay on, or be scheduled to, a node with a taint that matches.", {
    key: text("The key of the taint. Empty with the operator Exists matches every taint."),
    operator: oneOf("Equal compares key and value, Exists the key alone; Equal if unset.", "Equal", "Exists"),
    value: text("The value that the taint must have, with the operator Equal."),
    effect: oneOf("The effect of the taint; empty matches every effect.", ...EFFECTS),
    tolerationSeconds: integer(
      "How many seconds the pod stays on a node with such a NoExecute taint before it is evicted, counted from the taint's timeAdded. Unset: for ever. 0 or less: evicted at once.",
    ),
  }),
  PodTemplateSpec: define("From which pods are made.", {
    metadata: of("ObjectMeta", "The labels and annotations of the pods. The selector has to match the labels."),
    spec: of("PodSpec", "What is wanted of the pods."),
  }),
};

const CONTAINER: Definitions = {
  Container: define(
    "One container of a pod.",
    {
      name: text("The name, unique in the pod. It cannot be changed."),
      image: text("The image, with its tag or digest."),
      command: textList("What runs instead of the image's entrypoint."),
      args: textList("The arguments of what runs."),
      env: listOf("EnvVar", "Environment variables."),
      ports: listOf("ContainerPort", "The ports that the container listens on."),
      resources: of("ResourceRequirements", "The resources that the container needs and may use."),
      volumeMounts: listOf("VolumeMount", "Where volumes of the pod appear in the container."),
      imagePullPolicy: oneOf("When the image is pulled.", "Always", "IfNotPresent", "Never"),
      terminationMessagePath: text("The file with the last words of the container."),
      terminationMessagePolicy: text("File, or FallbackToLogsOnError."),
      securityContext: anything("With which rights the container runs."),
    },
    "name",
  ),
  EnvVar: define("An environment variable.", { name: text("Its name."), value: text("Its value.") }, "name"),
  ContainerPort: define(
    "A port of a container.",
    {
      name: text("A name by which services can refer to the port."),
      containerPort: integer("The number of the port."),
      protocol: text("TCP, UDP or SCTP; TCP if unset."),
    },
    "containerPort",
  ),
  ResourceRequirements: define("Resources of a container.", {
    requests: texts("What the scheduler sets aside, such as cpu and memory."),
    limits: texts("What the container may use at most."),
  }),
  VolumeMount: define(
    "Where a volume appears in a container.",
    {
      name: text("The volume."),
      mountPath: text("The path in the container."),
      readOnly: truth("Whether it is read only."),
    },
    "name",
    "mountPath",
  ),
  Volume: define(
    "A volume of a pod. Its source is kept and not described here.",
    { name: text("The name by which containers mount it.") },
    "name",
  ),
};

const STATUS: Definitions = {
  PodStatus: define("What is known about a pod.", {
    phase: oneOf("Where the pod is in its life.", "Pending", "Running", "Succeeded", "Failed", "Unknown"),
    conditions: listOf(
      "PodCondition",
      "Whether the pod is scheduled and Ready. Ready becomes False when its node is silent; DisruptionTarget says that it is evicted.",
    ),
    message: text("Why the pod is in this phase, in words for people."),
    reason: text("Why the pod is in this phase, in one word."),
    nominatedNodeName: text("The node on which room is made for the pod."),
    hostIP: text("The address of the node."),
    podIP: text("The address of the pod."),
    podIPs: listOf("PodIP", "The addresses of the pod; the first is `podIP`."),
    startTime: time("When the kubelet took up the pod."),
    qosClass: oneOf(
      "From the resources: which pods end first when memory is short.",
      "Guaranteed",
      "Burstable",
      "BestEffort",
    ),
    initContainerStatuses: listOf("ContainerStatus", "The state of the init containers."),
    containerStatuses: listOf("ContainerStatus", "The state of the containers."),
  }),
  PodCondition: define(
    "One thing that is said about a pod.",
    {
      type: text("PodScheduled, Initialized, ContainersReady, Ready, DisruptionTarget, or any other."),
      status: oneOf("Whether it holds.", "True", "False", "Unknown"),
      lastProbeTime: time("When it was last checked."),
      lastTransitionTime: time("When the status last changed."),
      reason: text("Why, in one word, such as DeletionByTaintManager."),
      message: text("Why, in words for people."),
      observedGeneration: integer("The generation of the pod for which this holds."),
    },
    "type",
    "status",
  ),
  PodIP: define("An address of a pod.", { ip: text("The address.") }, "ip"),
  ContainerStatus: define("The state of a container.", {
    name: text("The container."),
    state: of("ContainerState", "What it does now."),
    lastState: of("ContainerState", "How it ended before it was started again."),
    ready: truth("Whether it is ready."),
    restartCount: integer("How often it was started again."),
    image: text("The image that runs."),
    imageID: text("The image's digest."),
  }),
  ContainerState: define("One of three states.", {
    running: anything("It runs, since `startedAt`."),
    terminated: anything("It has ended: `exitCode`, `reason`, `startedAt`, `finishedAt`."),
    waiting: anything("It does not run yet: `reason`, `message`."),
  }),
};

/** Pods and templates of pods. */
export const PODS: Definitions = { ...POD, ...CONTAINER, ...STATUS };

/** The definitions of pod disruption budgets. */
export const BUDGETS: Definitions = {
  PodDisruptionBudget: define("How many pods may be missing at once. Evictions heed it, deletions do not.", {
    ...OBJECT_FIELDS,
    spec: of("PodDisruptionBudgetSpec", "Which pods, and how many of them."),
    status: of("PodDisruptionBudgetStatus", "How many may go now."),
  }),
  PodDisruptionBudgetSpec: define("Which pods are meant, and how many may be missing. One amount, not both.", {
    minAvailable: amount("How many pods have to stay healthy: a number, or a percentage."),
    selector: of("LabelSelector", "The pods."),
    maxUnavailable: amount("How many pods may be missing: a number, or a percentage."),
    unhealthyPodEvictionPolicy: text(
      "IfHealthyBudget or AlwaysAllow: whether pods that are not healthy may always go.",
    ),
  }),
  PodDisruptionBudgetStatus: define("What the budget allows now.", {
    observedGeneration: integer("The generation of the budget for which this holds."),
    disruptionsAllowed: integer("How many pods may be evicted now."),
    currentHealthy: integer("How many pods are healthy."),
    desiredHealthy: integer("How many have to be healthy."),
    expectedPods: integer("How many pods the budget counts."),
    disruptedPods: texts("Pods whose eviction was granted and is not seen yet, each with the time."),
  }),
};
