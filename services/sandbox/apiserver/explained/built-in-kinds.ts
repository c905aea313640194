/** What `kubectl explain` says about built-in kinds. Data, in the form that schema-text.ts reads. */
import { type Definitions, definitionsIn } from "./schema-text.ts";

/** The parts that objects of several kinds share. */
const SHARED = `
ObjectMeta: What every object has: its name, its labels, and what the server records about it.
  name <string>: The name, unique for the kind within the namespace. It cannot be changed.
  generateName <string>: A prefix from which the server makes the name when \`name\` is empty.
  namespace <string>: The namespace; empty for kinds that have none, such as Node. It cannot be changed.
  uid <string>: The identity of this object. One that is created again under the same name has another.
  resourceVersion <string>: Changes with every write. A write that gives an old one is refused with a conflict.
  generation <integer>: Counts the changes of the desired state, for the kinds that count them.
  creationTimestamp <time>: When the object was created. Set by the server.
  deletionTimestamp <time>: When the object was, or will be, deleted. Set by the server; deletion cannot be taken back.
  deletionGracePeriodSeconds <integer>: How many seconds the object may take to end before it is removed.
  labels <map[string]string>: Names and values by which selectors find the object.
  annotations <map[string]string>: Names and values for programs; selectors do not see them.
  ownerReferences <[]OwnerReference>: The objects that this one belongs to, such as the ReplicaSet of a pod.
  finalizers <[]string>: Programs that have to let go of the object before it is removed.
OwnerReference: An object that another one belongs to.
  apiVersion <string> required: The API version of the owner.
  kind <string> required: The kind of the owner.
  name <string> required: The name of the owner.
  uid <string> required: The identity of the owner.
  controller <boolean>: Whether the owner controls the object; at most one owner does.
  blockOwnerDeletion <boolean>: Whether the owner waits for this object when both are deleted together.
LabelSelector: Which objects are meant, by their labels. Every given term must hold.
  matchLabels <map[string]string>: Labels that an object must have, with these values.
  matchExpressions <[]LabelSelectorRequirement>: Conditions on labels.
LabelSelectorRequirement: A condition on one label.
  key <string> required: The label.
  operator <string> required: In, NotIn, Exists or DoesNotExist.
  values <[]string>: The values for In and NotIn; empty for the other two.
ObjectReference: Names another object.
  kind <string>: Its kind.
  namespace <string>: Its namespace; empty for kinds that have none.
  name <string>: Its name.
  uid <string>: Its identity. Events about a node have the node's name here.
  apiVersion <string>: Its API version.
  resourceVersion <string>: Its version when the reference was made.
  fieldPath <string>: The part of it that is meant, such as one container.
`;

/** Nodes and their leases. */
const NODES = `
Node (object): A machine on which pods run. Its kubelet registers it and reports its status.
  spec <NodeSpec>: What is wanted of the node: its taints, and whether pods may be scheduled to it.
  status <NodeStatus>: What the kubelet reports about the node, and what is concluded from its silence.
NodeSpec: What is wanted of a node.
  podCIDR <string>: The addresses for the pods of the node.
  podCIDRs <[]string>: The same for several families of addresses; the first is \`podCIDR\`.
  providerID <string>: How the cloud names the machine.
  unschedulable <boolean>: Whether the node is cordoned: no pod is scheduled to it. Set by \`kubectl cordon\`.
  taints <[]Taint>: Marks that keep pods away unless they tolerate them.
  configSource <object>: No longer used.
  externalID <string>: No longer used.
Taint: A mark on a node. A pod that does not tolerate it is not scheduled there, or is evicted from there.
  key <string> required: The name of the taint. node.kubernetes.io/not-ready and node.kubernetes.io/unreachable mark
    nodes that are not Ready or silent.
  value <string>: A value that tolerations with the operator Equal compare.
  effect <NoSchedule|PreferNoSchedule|NoExecute> required: NoSchedule: no new pods. PreferNoSchedule: new pods only if
    there is no other place. NoExecute: pods that run there are evicted, too.
  timeAdded <time>: When the taint was added. Countdowns of tolerationSeconds begin here; only NoExecute has it.
NodeStatus: What is known about a node.
  capacity <map[string]string>: The resources of the machine, such as cpu, memory and pods.
  allocatable <map[string]string>: The resources that pods may use.
  phase <string>: No longer used.
  conditions <[]NodeCondition>: Whether the node is Ready, and whether it is short of something.
  addresses <[]NodeAddress>: The addresses and the host name of the node.
  daemonEndpoints <NodeDaemonEndpoints>: Where the kubelet listens.
  nodeInfo <NodeSystemInfo>: The versions of the software on the node.
  images <[]ContainerImage>: The images that are on the node.
  volumesInUse <[]string>: The volumes that the kubelet uses.
  volumesAttached <[]AttachedVolume>: The volumes that are attached to the node.
NodeCondition: One thing that is said about a node. When the kubelet stays silent too long, all of its conditions
    become Unknown.
  type <string> required: Ready, MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable, or any other.
  status <True|False|Unknown> required: True, False, or Unknown if nobody has said it for too long.
  lastHeartbeatTime <time>: When the kubelet last said so. Between its reports the node's Lease is its heartbeat.
  lastTransitionTime <time>: When the status last changed.
  reason <string>: Why, in one word, such as KubeletReady or NodeStatusUnknown.
  message <string>: Why, in words for people.
  observedGeneration <integer>: The generation of the node for which this holds.
NodeAddress: One address of a node.
  type <string> required: Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.
  address <string> required: The address.
NodeDaemonEndpoints: Where daemons of a node listen.
  kubeletEndpoint <DaemonEndpoint>: The kubelet's port.
DaemonEndpoint: A port.
  Port <integer> required: The number of the port.
NodeSystemInfo: The software on a node.
  machineID <string>: The id of the machine, from /etc/machine-id.
  systemUUID <string>: The id of the hardware.
  bootID <string>: Changes with every start of the machine.
  kernelVersion <string>: The version of the kernel.
  osImage <string>: The operating system and its version.
  containerRuntimeVersion <string>: The container runtime and its version.
  kubeletVersion <string>: The version of the kubelet.
  kubeProxyVersion <string>: No longer used.
  operatingSystem <string>: Linux or Windows, in lower case.
  architecture <string>: The processor, such as amd64 or arm64.
ContainerImage: An image on a node.
  names <[]string>: The names by which the image is known.
  sizeBytes <integer>: Its size.
AttachedVolume: A volume that is attached to a node.
  name <string>: The volume.
  devicePath <string>: The device under which it is attached.
Lease (object): A claim that its holder renews. Each kubelet renews the Lease with its node's name in kube-node-lease:
    that is the node's heartbeat.
  spec <LeaseSpec>: Who holds the lease, and until when.
LeaseSpec: What the holder writes.
  holderIdentity <string>: Who holds it; for a node's lease, the node.
  leaseDurationSeconds <integer>: How long a claim holds after its last renewal.
  acquireTime <time>: When the holder took the lease.
  renewTime <time>: When the holder last renewed it: the node's last heartbeat.
  leaseTransitions <integer>: How often the holder has changed.
`;

/** Pods, and the budgets for their disruption. */
const PODS = `
Pod (object): Containers that run together on one node.
  spec <PodSpec>: What is wanted: the containers, and on which nodes they may run.
  status <PodStatus>: What the kubelet reports about the pod.
PodSpec: What is wanted of a pod.
  nodeName <string>: The node that the pod is bound to; empty until the scheduler has chosen one.
  nodeSelector <map[string]string>: Labels that the node has to have.
  tolerations <[]Toleration>: The taints that the pod tolerates. The server adds 300 s for
    node.kubernetes.io/not-ready and node.kubernetes.io/unreachable unless the pod mentions them.
  containers <[]Container> required: The containers; at least one.
  initContainers <[]Container>: Containers that run one after the other before the others start.
  restartPolicy <Always|OnFailure|Never>: When containers that have ended start again.
  terminationGracePeriodSeconds <integer>: How many seconds the containers have to end after a deletion; 30 if unset.
  volumes <[]Volume>: Volumes that containers can mount.
  hostNetwork <boolean>: Whether the pod uses the network of its node.
  serviceAccountName <string>: The account as which the pod talks to the API.
  schedulerName <string>: The scheduler that places the pod; default-scheduler if unset.
  priority <integer>: Pods of a higher priority are placed first; 0 if unset.
  preemptionPolicy <string>: Whether the pod may displace pods of a lower priority.
  dnsPolicy <string>: How names are resolved; ClusterFirst if unset.
  enableServiceLinks <boolean>: Whether services become environment variables of containers.
  securityContext <object>: With which rights all containers run.
Toleration: Lets a pod stay on, or be scheduled to, a node with a taint that matches.
  key <string>: The key of the taint. Empty with the operator Exists matches every taint.
  operator <Equal|Exists>: Equal compares key and value, Exists the key alone; Equal if unset.
  value <string>: The value that the taint must have, with the operator Equal.
  effect <NoSchedule|PreferNoSchedule|NoExecute>: The effect of the taint; empty matches every effect.
  tolerationSeconds <integer>: How many seconds the pod stays on a node with such a NoExecute taint before it is
    evicted, counted from the taint's timeAdded. Unset: for ever. 0 or less: evicted at once.
PodTemplateSpec: From which pods are made.
  metadata <ObjectMeta>: The labels and annotations of the pods. The selector has to match the labels.
  spec <PodSpec>: What is wanted of the pods.
Container: One container of a pod.
  name <string> required: The name, unique in the pod. It cannot be changed.
  image <string>: The image, with its tag or digest.
  command <[]string>: What runs instead of the image's entrypoint.
  args <[]string>: The arguments of what runs.
  env <[]EnvVar>: Environment variables.
  ports <[]ContainerPort>: The ports that the container listens on.
  resources <ResourceRequirements>: The resources that the container needs and may use.
  volumeMounts <[]VolumeMount>: Where volumes of the pod appear in the container.
  imagePullPolicy <Always|IfNotPresent|Never>: When the image is pulled.
  terminationMessagePath <string>: The file with the last words of the container.
  terminationMessagePolicy <string>: File, or FallbackToLogsOnError.
  securityContext <object>: With which rights the container runs.
EnvVar: An environment variable.
  name <string> required: Its name.
  value <string>: Its value.
ContainerPort: A port of a container.
  name <string>: A name by which services can refer to the port.
  containerPort <integer> required: The number of the port.
  protocol <string>: TCP, UDP or SCTP; TCP if unset.
ResourceRequirements: Resources of a container.
  requests <map[string]string>: What the scheduler sets aside, such as cpu and memory.
  limits <map[string]string>: What the container may use at most.
VolumeMount: Where a volume appears in a container.
  name <string> required: The volume.
  mountPath <string> required: The path in the container.
  readOnly <boolean>: Whether it is read only.
Volume: A volume of a pod. Its source is kept and not described here.
  name <string> required: The name by which containers mount it.
PodStatus: What is known about a pod.
  phase <Pending|Running|Succeeded|Failed|Unknown>: Where the pod is in its life.
  conditions <[]PodCondition>: Whether the pod is scheduled and Ready. Ready becomes False when its node is silent;
    DisruptionTarget says that it is evicted.
  message <string>: Why the pod is in this phase, in words for people.
  reason <string>: Why the pod is in this phase, in one word.
  nominatedNodeName <string>: The node on which room is made for the pod.
  hostIP <string>: The address of the node.
  podIP <string>: The address of the pod.
  podIPs <[]PodIP>: The addresses of the pod; the first is \`podIP\`.
  startTime <time>: When the kubelet took up the pod.
  qosClass <Guaranteed|Burstable|BestEffort>: From the resources: which pods end first when memory is short.
  initContainerStatuses <[]ContainerStatus>: The state of the init containers.
  containerStatuses <[]ContainerStatus>: The state of the containers.
PodCondition: One thing that is said about a pod.
  type <string> required: PodScheduled, Initialized, ContainersReady, Ready, DisruptionTarget, or any other.
  status <True|False|Unknown> required: Whether it holds.
  lastProbeTime <time>: When it was last checked.
  lastTransitionTime <time>: When the status last changed.
  reason <string>: Why, in one word, such as DeletionByTaintManager.
  message <string>: Why, in words for people.
  observedGeneration <integer>: The generation of the pod for which this holds.
PodIP: An address of a pod.
  ip <string> required: The address.
ContainerStatus: The state of a container.
  name <string>: The container.
  state <ContainerState>: What it does now.
  lastState <ContainerState>: How it ended before it was started again.
  ready <boolean>: Whether it is ready.
  restartCount <integer>: How often it was started again.
  image <string>: The image that runs.
  imageID <string>: The image's digest.
ContainerState: One of three states.
  running <object>: It runs, since \`startedAt\`.
  terminated <object>: It has ended: \`exitCode\`, \`reason\`, \`startedAt\`, \`finishedAt\`.
  waiting <object>: It does not run yet: \`reason\`, \`message\`.
PodDisruptionBudget (object): How many pods may be missing at once. Evictions heed it, deletions do not.
  spec <PodDisruptionBudgetSpec>: Which pods, and how many of them.
  status <PodDisruptionBudgetStatus>: How many may go now.
PodDisruptionBudgetSpec: Which pods are meant, and how many may be missing. One amount, not both.
  minAvailable <IntOrString>: How many pods have to stay healthy: a number, or a percentage.
  selector <LabelSelector>: The pods.
  maxUnavailable <IntOrString>: How many pods may be missing: a number, or a percentage.
  unhealthyPodEvictionPolicy <string>: IfHealthyBudget or AlwaysAllow: whether pods that are not healthy may always go.
PodDisruptionBudgetStatus: What the budget allows now.
  observedGeneration <integer>: The generation of the budget for which this holds.
  disruptionsAllowed <integer>: How many pods may be evicted now.
  currentHealthy <integer>: How many pods are healthy.
  desiredHealthy <integer>: How many have to be healthy.
  expectedPods <integer>: How many pods the budget counts.
  disruptedPods <map[string]string>: Pods whose eviction was granted and is not seen yet, each with the time.
`;

/** The kinds that keep pods running. */
const WORKLOADS = `
Deployment (object): Keeps a number of like pods, and replaces them step by step when their template changes.
  spec <DeploymentSpec>: The pods, how many of them, and how they are replaced.
  status <DeploymentStatus>: How many of the pods are there.
DeploymentSpec: What is wanted of a Deployment.
  replicas <integer>: How many pods there shall be; 1 if unset.
  selector <LabelSelector> required: The pods that belong to it; the labels of the template have to match.
  template <PodTemplateSpec> required: From which the pods are made.
  strategy <DeploymentStrategy>: How the pods of an earlier template are replaced.
  revisionHistoryLimit <integer>: How many earlier ReplicaSets are to be kept; 10 if unset.
  progressDeadlineSeconds <integer>: After how many seconds without progress a rollout counts as failed; 600 if unset.
DeploymentStrategy: Kept but not heeded here: an earlier pod goes for each new one that is Ready.
  type <RollingUpdate|Recreate>: RollingUpdate if unset.
  rollingUpdate <RollingUpdate>: How many at once.
RollingUpdate: How many pods are replaced at once.
  maxUnavailable <IntOrString>: How many pods may be missing: a number, or a percentage.
  maxSurge <IntOrString>: How many pods there may be beyond the wanted number: a number, or a percentage.
DeploymentStatus: How far a Deployment is.
  observedGeneration <integer>: The generation for which these counts hold.
  replicas <integer>: How many pods there are.
  readyReplicas <integer>: How many of them are Ready.
  availableReplicas <integer>: How many of them are available.
  updatedReplicas <integer>: How many pods are made from the present template.
  unavailableReplicas <integer>: How many pods are missing.
  conditions <[]DeploymentCondition>: Whether it is Available, and Progressing.
DeploymentCondition: One thing that is said about a Deployment.
  type <string>: Available or Progressing.
  status <True|False|Unknown>: Whether it holds.
  reason <string>: Why, in one word.
  message <string>: Why, in words for people.
  lastUpdateTime <time>: When it was last set.
  lastTransitionTime <time>: When the status last changed.
ReplicaSet (object): Keeps a number of like pods. Evicted ones come back on other nodes.
  spec <ReplicaSetSpec>: The pods, and how many of them.
  status <ReplicaSetStatus>: How many of the pods are there.
ReplicaSetSpec: What is wanted of a ReplicaSet.
  replicas <integer>: How many pods there shall be; 1 if unset.
  selector <LabelSelector> required: The pods that belong to it; the labels of the template have to match.
  template <PodTemplateSpec>: From which the pods are made.
ReplicaSetStatus: How many pods a ReplicaSet has.
  observedGeneration <integer>: The generation for which these counts hold.
  replicas <integer>: How many pods there are.
  readyReplicas <integer>: How many of them are Ready.
  availableReplicas <integer>: How many of them are available.
  fullyLabeledReplicas <integer>: How many of them have all labels of the template.
DaemonSet (object): One pod on each node. The embedded API stores it and starts no pods for it.
  spec <DaemonSetSpec>: The pods.
  status <DaemonSetStatus>: How many nodes have one.
DaemonSetSpec: What is wanted of a DaemonSet.
  selector <LabelSelector> required: The pods that belong to it; the labels of the template have to match.
  template <PodTemplateSpec> required: From which the pods are made.
  updateStrategy <DeploymentStrategy>: How the pods of an earlier template are replaced.
  revisionHistoryLimit <integer>: How many earlier templates are kept; 10 if unset.
DaemonSetStatus: How many nodes have a pod of a DaemonSet.
  currentNumberScheduled <integer>: How many nodes have one and should.
  numberMisscheduled <integer>: How many nodes have one and should not.
  desiredNumberScheduled <integer>: How many nodes should have one.
  numberReady <integer>: How many of the pods are Ready.
  observedGeneration <integer>: The generation for which these counts hold.
  updatedNumberScheduled <integer>: How many pods are made from the present template.
  numberAvailable <integer>: How many nodes have an available one.
  numberUnavailable <integer>: How many nodes lack an available one.
`;

/** Kinds without behaviour of their own, namespaces and definitions of custom resources. */
const OTHERS = `
ConfigMap (object): Texts by name, for programs. All together at most 1 MiB.
  immutable <boolean>: Whether the contents can no longer be changed.
  data <map[string]string>: The texts by name.
  binaryData <map[string]string>: Bytes by name, as base64.
ServiceAccount (object): An account as which pods talk to the API. The embedded API stores it; everybody may do all.
Event (object): Something that happened to an object, in words for people. Shown by \`kubectl get events\` and
    \`kubectl describe\`.
  involvedObject <ObjectReference> required: The object that it happened to.
  reason <string>: What happened, in one word, such as NodeNotReady or TaintManagerEviction.
  message <string>: What happened, in words.
  source <EventSource>: The program that reports it.
  firstTimestamp <time>: When it first happened.
  lastTimestamp <time>: When it last happened.
  count <integer>: How often it happened.
  type <string>: Normal or Warning.
  eventTime <time>: When it happened, in the newer form of Events.
  series <object>: How often and until when it has been repeated, in the newer form.
  action <string>: What was done about it.
  related <ObjectReference>: Another object that it concerns.
  reportingComponent <string>: The program that reports it, in the newer form.
  reportingInstance <string>: Which instance of that program.
EventSource: The program that reports an Event.
  component <string>: Its name, such as node-controller.
  host <string>: The node on which it runs.
Service (object): A name and an address for pods. The embedded API stores it; nothing listens there.
  spec <ServiceSpec>: The pods and the ports.
  status <object>: The addresses of a load balancer; always empty here.
ServiceSpec: The pods and the ports of a service.
  ports <[]ServicePort>: The ports; at least one, except with ExternalName and without a cluster IP.
  selector <map[string]string>: The labels of the pods.
  clusterIP <string>: The address in the cluster, chosen by the server; None for no address.
  type <ClusterIP|NodePort|LoadBalancer|ExternalName>: ClusterIP if unset.
  sessionAffinity <string>: None if unset, or ClientIP.
ServicePort: A port of a service.
  name <string>: Its name, where there are several.
  port <integer> required: The port of the service.
  targetPort <IntOrString>: The port of the pods, by number or name; the same if unset.
  protocol <string>: TCP, UDP or SCTP; TCP if unset.
CustomResourceDefinition (object): Adds a kind to the API. kubectl explains that kind from its schema here.
  spec <CustomResourceDefinitionSpec>: The names, versions and schemas of the kind.
  status <object>: Whether the names are accepted and the kind is served.
CustomResourceDefinitionSpec: What a definition says.
  group <string> required: The group of the API, such as vigil.io. The object's name is the plural, a dot and this.
  names <CustomResourceDefinitionNames> required: How the kind is called.
  scope <Cluster|Namespaced> required: Whether its objects are in namespaces.
  versions <[]CustomResourceDefinitionVersion> required: The versions; one of them is stored.
  conversion <object>: How objects are converted between versions; here only the strategy None.
CustomResourceDefinitionNames: How a kind is called.
  plural <string> required: In paths, such as nodepolicies.
  singular <string>: For kubectl; the kind in lower case if unset.
  kind <string> required: In objects, such as NodePolicy.
  listKind <string>: In lists; the kind and List if unset.
  shortNames <[]string>: Shorter names for kubectl.
  categories <[]string>: Groups of kinds, such as all.
CustomResourceDefinitionVersion: One version of a kind.
  name <string> required: Such as v1 or v1alpha1.
  served <boolean> required: Whether it can be requested.
  storage <boolean> required: Whether objects are stored in it; true for one version.
  schema <object>: \`openAPIV3Schema\`: the fields of an object. Others are dropped, or refused.
  subresources <object>: \`status\`: whether the status is written apart from the rest.
  additionalPrinterColumns <[]object>: The columns of \`kubectl get\`.
Namespace (object): A room for objects with names of their own. When it is deleted, everything in it is deleted first.
  spec <NamespaceSpec>: What has to be done before it is removed.
  status <NamespaceStatus>: Whether it is being deleted.
NamespaceSpec: What has to be done before a namespace is removed.
  finalizers <[]string>: Programs that have to let go of it; kubernetes empties it.
NamespaceStatus: Where a namespace is in its life.
  phase <Active|Terminating>: Terminating while it is emptied.
`;

/** Every definition by name: the kinds, and what they are made of. */
export const DEFINITIONS: Definitions = {
  ...definitionsIn(SHARED + NODES + PODS + WORKLOADS + OTHERS),
  IntOrString: { oneOf: [{ type: "integer" }, { type: "string" }], format: "int-or-string" },
};
