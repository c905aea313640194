/** What `kubectl explain` says about namespaces, services, Events and definitions of custom resources. Data. */
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

const EVENTS: Definitions = {
  Event: define(
    "Something that happened to an object, in words for people. Shown by `kubectl get events` and `kubectl describe`.",
    {
      ...OBJECT_FIELDS,
      involvedObject: of("ObjectReference", "The object that it happened to."),
      reason: text("What happened, in one word, such as NodeNotReady or TaintManagerEviction."),
      message: text("What happened, in words."),
      source: of("EventSource", "The program that reports it."),
      firstTimestamp: time("When it first happened."),
      lastTimestamp: time("When it last happened."),
      count: integer("How often it happened."),
      type: text("Normal or Warning."),
      eventTime: time("When it happened, in the newer form of Events."),
      series: anything("How often and until when it has been repeated, in the newer form."),
      action: text("What was done about it."),
      related: of("ObjectReference", "Another object that it concerns."),
      reportingComponent: text("The program that reports it, in the newer form."),
      reportingInstance: text("Which instance of that program."),
    },
    "involvedObject",
  ),
  EventSource: define("The program that reports an Event.", {
    component: text("Its name, such as node-controller."),
    host: text("The node on which it runs."),
  }),
};

const SERVICES: Definitions = {
  Service: define("A name and an address for pods. The embedded API stores it; nothing listens there.", {
    ...OBJECT_FIELDS,
    spec: of("ServiceSpec", "The pods and the ports."),
    status: anything("The addresses of a load balancer; always empty here."),
  }),
  ServiceSpec: define("The pods and the ports of a service.", {
    ports: listOf("ServicePort", "The ports; at least one, except with ExternalName and without a cluster IP."),
    selector: texts("The labels of the pods."),
    clusterIP: text("The address in the cluster, chosen by the server; None for no address."),
    type: oneOf("ClusterIP if unset.", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"),
    sessionAffinity: text("None if unset, or ClientIP."),
  }),
  ServicePort: define(
    "A port of a service.",
    {
      name: text("Its name, where there are several."),
      port: integer("The port of the service."),
      targetPort: amount("The port of the pods, by number or name; the same if unset."),
      protocol: text("TCP, UDP or SCTP; TCP if unset."),
    },
    "port",
  ),
};

const CUSTOM: Definitions = {
  CustomResourceDefinition: define("Adds a kind to the API. kubectl explains that kind from its schema here.", {
    ...OBJECT_FIELDS,
    spec: of("CustomResourceDefinitionSpec", "The names, versions and schemas of the kind."),
    status: anything("Whether the names are accepted and the kind is served."),
  }),
  CustomResourceDefinitionSpec: define(
    "What a definition says.",
    {
      group: text("The group of the API, such as vigil.io. The object's name is the plural, a dot and this."),
      names: of("CustomResourceDefinitionNames", "How the kind is called."),
      scope: oneOf("Whether its objects are in namespaces.", "Cluster", "Namespaced"),
      versions: listOf("CustomResourceDefinitionVersion", "The versions; one of them is stored."),
      conversion: anything("How objects are converted between versions; here only the strategy None."),
    },
    "group",
    "names",
    "scope",
    "versions",
  ),
  CustomResourceDefinitionNames: define(
    "How a kind is called.",
    {
      plural: text("In paths, such as nodepolicies."),
      singular: text("For kubectl; the kind in lower case if unset."),
      kind: text("In objects, such as NodePolicy."),
      listKind: text("In lists; the kind and List if unset."),
      shortNames: textList("Shorter names for kubectl."),
      categories: textList("Groups of kinds, such as all."),
    },
    "plural",
    "kind",
  ),
  CustomResourceDefinitionVersion: define(
    "One version of a kind.",
    {
      name: text("Such as v1 or v1alpha1."),
      served: truth("Whether it can be requested."),
      storage: truth("Whether objects are stored in it; true for one version."),
      schema: anything("`openAPIV3Schema`: the fields of an object. Others are dropped, or refused."),
      subresources: anything("`status`: whether the status is written apart from the rest."),
      additionalPrinterColumns: {
        type: "array",
        description: "The columns of `kubectl get`.",
        items: { type: "object" },
      },
    },
    "name",
    "served",
    "storage",
  ),
};

/** Namespaces, services, Events and definitions of custom resources. */
export const CLUSTER_KINDS: Definitions = {
  ...EVENTS,
  ...SERVICES,
  ...CUSTOM,
  Namespace: define(
    "A room for objects with names of their own. When it is deleted, everything in it is deleted first.",
    {
      ...OBJECT_FIELDS,
      spec: of("NamespaceSpec", "What has to be done before it is removed."),
      status: of("NamespaceStatus", "Whether it is being deleted."),
    },
  ),
  NamespaceSpec: define("What has to be done before a namespace is removed.", {
    finalizers: textList("Programs that have to let go of it; kubernetes empties it."),
  }),
  NamespaceStatus: define("Where a namespace is in its life.", {
    phase: oneOf("Terminating while it is emptied.", "Active", "Terminating"),
  }),
};
