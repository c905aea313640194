/**
 * The fields of Kubernetes objects that are decoded from protobuf, by their numbers in k8s.io/api's generated.proto:
 * those that projections and refusals use.
 */
import { MIRROR_ANNOTATION } from "../../../../protocols/names.ts";
import { bytes, integer, label, labels, many, microTime, one, type Shape, text, time, truth } from "./protobuf.ts";

const OWNER_REFERENCE: Shape = { 1: text("kind"), 4: text("uid"), 6: truth("controller") };

/** Metadata of pods and nodes; a lease needs its name and its owners alone. */
const METADATA: Shape = {
  1: text("name"),
  3: text("namespace"),
  5: text("uid"),
  6: text("resourceVersion"),
  8: time("creationTimestamp"),
  9: time("deletionTimestamp"),
  13: many("ownerReferences", OWNER_REFERENCE),
};

/** Who manages which fields. These are JSON in bytes, which stay undecoded: they are read of failed nodes alone. */
const MANAGED_FIELDS: Shape = { 1: text("manager"), 7: one("fieldsV1", { 1: bytes("raw") }) };

const NODE_METADATA: Shape = {
  ...METADATA,
  11: labels("labels"),
  12: labels("annotations"),
  17: many("managedFields", MANAGED_FIELDS),
};

const TAINT: Shape = { 1: text("key"), 2: text("value"), 3: text("effect"), 4: time("timeAdded") };

const NODE_CONDITION: Shape = {
  1: text("type"),
  2: text("status"),
  3: time("lastHeartbeatTime"),
  4: time("lastTransitionTime"),
  5: text("reason"),
};

/** A Node. */
export const NODE: Shape = {
  1: one("metadata", NODE_METADATA),
  2: one("spec", { 4: truth("unschedulable"), 5: many("taints", TAINT) }),
  3: one("status", { 4: many("conditions", NODE_CONDITION) }),
};

/** A Lease: its name, owners, holder and renewal. */
export const LEASE: Shape = {
  1: one("metadata", { 1: text("name"), 6: text("resourceVersion"), 13: many("ownerReferences", OWNER_REFERENCE) }),
  2: one("spec", { 1: text("holderIdentity"), 4: microTime("renewTime") }),
};

const TOLERATION: Shape = {
  1: text("key"),
  2: text("operator"),
  3: text("value"),
  4: text("effect"),
  5: integer("tolerationSeconds"),
};

const POD_METADATA: Shape = {
  ...METADATA,
  7: integer("generation"),
  12: label("annotations", MIRROR_ANNOTATION),
};

const POD_CONDITION: Shape = { 1: text("type"), 2: text("status"), 4: time("lastTransitionTime") };

/** A Pod, without its labels and most annotations. */
export const POD: Shape = {
  1: one("metadata", POD_METADATA),
  2: one("spec", { 10: text("nodeName"), 22: many("tolerations", TOLERATION) }),
  3: one("status", { 1: text("phase"), 2: many("conditions", POD_CONDITION), 7: time("startTime") }),
};

/** The metadata of a list. */
export const LIST_METADATA: Shape = { 2: text("resourceVersion"), 3: text("continue") };

/** A Status. */
export const STATUS: Shape = {
  3: text("message"),
  4: text("reason"),
  5: one("details", { 4: many("causes", { 3: text("field") }), 5: integer("retryAfterSeconds") }),
  6: integer("code"),
};
