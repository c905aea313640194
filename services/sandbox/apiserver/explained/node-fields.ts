/** What `kubectl explain` says about nodes and their leases. Data. */
import {
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

/** The effects of a taint. */
export const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

const NODE: Definitions = {
  Node: define("A machine on which pods run. Its kubelet registers it and reports its status.", {
    ...OBJECT_FIELDS,
    spec: of("NodeSpec", "What is wanted of the node: its taints, and whether pods may be scheduled to it."),
    status: of("NodeStatus", "What the kubelet reports about the node, and what is concluded from its silence."),
  }),
  NodeSpec: define("What is wanted of a node.", {
    podCIDR: text("The addresses for the pods of the node."),
    podCIDRs: textList("The same for several families of addresses; the first is `podCIDR`."),
    providerID: text("How the cloud names the machine."),
    unschedulable: truth("Whether the node is cordoned: no pod is scheduled to it. Set by `kubectl cordon`."),
    taints: listOf("Taint", "Marks that keep pods away unless they tolerate them."),
    configSource: anything("No longer used."),
    externalID: text("No longer used."),
  }),
  Taint: define(
    "A mark on a node. A pod that does not tolerate it is not scheduled there, or is evicted from there.",
    {
      key: text(
        "The name of the taint. node.kubernetes.io/not-ready and node.kubernetes.io/unreachable mark nodes that are not Ready or silent.",
      ),
      value: text("A value that tolerations with the operator Equal compare."),
      effect: oneOf(
        "NoSchedule: no new pods. PreferNoSchedule: new pods only if there is no other place. NoExecute: pods that run there are evicted, too.",
        ...EFFECTS,
      ),
      timeAdded: time("When the taint was added. Countdowns of tolerationSeconds begin here; only NoExecute has it."),
    },
    "key",
    "effect",
  ),
  NodeStatus: define("What is known about a node.", {
    capacity: texts("The resources of the machine, such as cpu, memory and pods."),
    allocatable: texts("The resources that pods may use."),
    phase: text("No longer used."),
    conditions: listOf("NodeCondition", "Whether the node is Ready, and whether it is short of something."),
    addresses: listOf("NodeAddress", "The addresses and the host name of the node."),
    daemonEndpoints: of("NodeDaemonEndpoints", "Where the kubelet listens."),
    nodeInfo: of("NodeSystemInfo", "The versions of the software on the node."),
    images: listOf("ContainerImage", "The images that are on the node."),
    volumesInUse: textList("The volumes that the kubelet uses."),
    volumesAttached: listOf("AttachedVolume", "The volumes that are attached to the node."),
  }),
};

const NODE_PARTS: Definitions = {
  NodeCondition: define(
    "One thing that is said about a node. When the kubelet stays silent too long, all of its conditions become Unknown.",
    {
      type: text("Ready, MemoryPressure, DiskPressure, PIDPressure, NetworkUnavailable, or any other."),
      status: oneOf("True, False, or Unknown if nobody has said it for too long.", "True", "False", "Unknown"),
      lastHeartbeatTime: time("When the kubelet last said so. Between its reports the node's Lease is its heartbeat."),
      lastTransitionTime: time("When the status last changed."),
      reason: text("Why, in one word, such as KubeletReady or NodeStatusUnknown."),
      message: text("Why, in words for people."),
      observedGeneration: integer("The generation of the node for which this holds."),
    },
    "type",
    "status",
  ),
  NodeAddress: define(
    "One address of a node.",
    { type: text("Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS."), address: text("The address.") },
    "type",
    "address",
  ),
  NodeDaemonEndpoints: define("Where daemons of a node listen.", {
    kubeletEndpoint: of("DaemonEndpoint", "The kubelet's port."),
  }),
  DaemonEndpoint: define("A port.", { Port: integer("The number of the port.") }, "Port"),
  NodeSystemInfo: define("The software on a node.", {
    machineID: text("The id of the machine, from /etc/machine-id."),
    systemUUID: text("The id of the hardware."),
    bootID: text("Changes with every start of the machine."),
    kernelVersion: text("The version of the kernel."),
    osImage: text("The operating system and its version."),
    containerRuntimeVersion: text("The container runtime and its version."),
    kubeletVersion: text("The version of the kubelet."),
    kubeProxyVersion: text("No longer used."),
    operatingSystem: text("Linux or Windows, in lower case."),
    architecture: text("The processor, such as amd64 or arm64."),
  }),
  ContainerImage: define("An image on a node.", {
    names: textList("The names by which the image is known."),
    sizeBytes: integer("Its size."),
  }),
  AttachedVolume: define("A volume that is attached to a node.", {
    name: text("The volume."),
    devicePath: text("The device under which it is attached."),
  }),
};

/** Nodes and leases. */
export const NODES_AND_LEASES: Definitions = {
  ...NODE,
  ...NODE_PARTS,
  Lease: define(
    "A claim that its holder renews. Each kubelet renews the Lease with its node's name in kube-node-lease: that is the node's heartbeat.",
    { ...OBJECT_FIELDS, spec: of("LeaseSpec", "Who holds the lease, and until when.") },
  ),
  LeaseSpec: define("What the holder writes.", {
    holderIdentity: text("Who holds it; for a node's lease, the node."),
    leaseDurationSeconds: integer("How long a claim holds after its last renewal."),
    acquireTime: time("When the holder took the lease."),
    renewTime: time("When the holder last renewed it: the node's last heartbeat."),
    leaseTransitions: integer("How often the holder has changed."),
  }),
};
