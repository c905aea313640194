/** The kinds that kubectl sends as protobuf: their fields by number, as far as they matter here. */
import {
  converted,
  integer,
  labels,
  many,
  one,
  type Shape,
  text,
  texts,
  truth,
  unlessZero,
} from "../../../platform/kube/protobuf/protobuf.ts";
import { type JsonRecord, recordOf } from "../../../structures/json.ts";

type Field = Shape[number];

const flag = (name: string): Field => unlessZero(truth(name));
const count = (name: string): Field => unlessZero(integer(name));

/** A number or a text, such as a port or a share. */
const numberOrText = (name: string): Field =>
  converted(name, { 1: integer("type"), 2: integer("number"), 3: text("text") }, ({ type, number, text: words }) =>
    type === 1 ? (words ?? "") : (number ?? 0),
  );

/** A map of quantities. */
function quantities(name: string): Field {
  const entry = many(name, { 1: text("key"), 2: one("value", { 1: text("amount") }) });
  const read: Field["read"] = (cursor, end, before) => {
    const [{ key, value } = {} as JsonRecord] = entry.read(cursor, end, []) as JsonRecord[];
    return { ...recordOf(before), [String(key)]: recordOf(value).amount };
  };
  return { ...entry, read };
}

const DELETE_OPTIONS: Shape = {
  1: integer("gracePeriodSeconds"),
  2: one("preconditions", { 1: text("uid"), 2: text("resourceVersion") }),
  4: text("propagationPolicy"),
};
const METADATA: Shape = {
  1: text("name"),
  2: text("generateName"),
  3: text("namespace"),
  11: labels("labels"),
  12: labels("annotations"),
};
const NAMED: Shape = { 1: one("metadata", METADATA) };

const SELECTOR: Shape = {
  1: labels("matchLabels"),
  2: many("matchExpressions", { 1: text("key"), 2: text("operator"), 3: texts("values") }),
};

const SECURITY: Shape = {
  1: one("capabilities", { 1: texts("add"), 2: texts("drop") }),
  2: truth("privileged"),
  4: integer("runAsUser"),
  5: truth("runAsNonRoot"),
  6: truth("readOnlyRootFilesystem"),
  7: truth("allowPrivilegeEscalation"),
};

const CONTAINER: Shape = {
  1: text("name"),
  2: text("image"),
  3: texts("command"),
  4: texts("args"),
  5: text("workingDir"),
  6: many("ports", {
    1: text("name"),
    2: count("hostPort"),
    3: integer("containerPort"),
    4: text("protocol"),
    5: text("hostIP"),
  }),
  7: many("env", { 1: text("name"), 2: text("value") }),
  8: one("resources", { 1: quantities("limits"), 2: quantities("requests") }),
  9: many("volumeMounts", { 1: text("name"), 2: flag("readOnly"), 3: text("mountPath"), 4: text("subPath") }),
  13: text("terminationMessagePath"),
  14: text("imagePullPolicy"),
  15: one("securityContext", SECURITY),
  16: flag("stdin"),
  17: flag("stdinOnce"),
  18: flag("tty"),
  20: text("terminationMessagePolicy"),
};

/** A volume has its source inline in JSON, and as a message of its own in protobuf. */
const VOLUME: Shape = {
  1: text("name"),
  2: one("source", {
    1: one("hostPath", { 1: text("path"), 2: text("type") }),
    2: one("emptyDir", { 1: text("medium") }),
    6: one("secret", { 1: text("secretName") }),
    19: converted("configMap", { 1: one("reference", { 1: text("name") }) }, ({ reference }) => recordOf(reference)),
  }),
};

function volumes(name: string): Field {
  const list = many(name, VOLUME);
  const read: Field["read"] = (cursor, end, before) => {
    const [{ source, ...volume } = {} as JsonRecord] = list.read(cursor, end, []) as JsonRecord[];
    return [...(Array.isArray(before) ? before : []), { ...volume, ...recordOf(source) }];
  };
  return { ...list, read };
}

const POD_SPEC: Shape = {
  1: volumes("volumes"),
  2: many("containers", CONTAINER),
  3: text("restartPolicy"),
  4: integer("terminationGracePeriodSeconds"),
  5: integer("activeDeadlineSeconds"),
  6: text("dnsPolicy"),
  7: labels("nodeSelector"),
  8: text("serviceAccountName"),
  10: text("nodeName"),
  11: flag("hostNetwork"),
  12: flag("hostPID"),
  13: flag("hostIPC"),
  14: one("securityContext", { 2: integer("runAsUser"), 3: truth("runAsNonRoot"), 5: integer("fsGroup") }),
  19: text("schedulerName"),
  20: many("initContainers", CONTAINER),
  21: truth("automountServiceAccountToken"),
  22: many("tolerations", {
    1: text("key"),
    2: text("operator"),
    3: text("value"),
    4: text("effect"),
    5: integer("tolerationSeconds"),
  }),
  24: text("priorityClassName"),
  27: truth("shareProcessNamespace"),
  30: truth("enableServiceLinks"),
};

const TEMPLATE: Shape = { ...NAMED, 2: one("spec", POD_SPEC) };

const ROLLING_UPDATE: Shape = { 1: numberOrText("maxUnavailable"), 2: numberOrText("maxSurge") };

const DEPLOYMENT_SPEC: Shape = {
  1: integer("replicas"),
  2: one("selector", SELECTOR),
  3: one("template", TEMPLATE),
  4: one("strategy", { 1: text("type"), 2: one("rollingUpdate", ROLLING_UPDATE) }),
  5: count("minReadySeconds"),
};

const SERVICE_SPEC: Shape = {
  1: many("ports", {
    1: text("name"),
    2: text("protocol"),
    3: integer("port"),
    4: numberOrText("targetPort"),
    5: count("nodePort"),
  }),
  2: labels("selector"),
  3: text("clusterIP"),
  4: text("type"),
  10: text("externalName"),
};

const BUDGET_SPEC: Shape = {
  1: numberOrText("minAvailable"),
  2: one("selector", SELECTOR),
  3: numberOrText("maxUnavailable"),
};

const ACCESS_REVIEW_SPEC: Shape = {
  1: one("resourceAttributes", {
    1: text("namespace"),
    2: text("verb"),
    3: text("group"),
    4: text("version"),
    5: text("resource"),
    6: text("subresource"),
    7: text("name"),
  }),
  2: one("nonResourceAttributes", { 1: text("path"), 2: text("verb") }),
};

/** The fields of each kind. */
export const KINDS: Readonly<Record<string, Shape>> = {
  ConfigMap: { ...NAMED, 2: labels("data"), 4: truth("immutable") },
  DeleteOptions: DELETE_OPTIONS,
  Deployment: { ...NAMED, 2: one("spec", DEPLOYMENT_SPEC) },
  Eviction: { ...NAMED, 2: one("deleteOptions", DELETE_OPTIONS) },
  Namespace: NAMED,
  Pod: TEMPLATE,
  PodDisruptionBudget: { ...NAMED, 2: one("spec", BUDGET_SPEC) },
  SelfSubjectAccessReview: { ...NAMED, 2: one("spec", ACCESS_REVIEW_SPEC) },
  SelfSubjectReview: NAMED,
  SelfSubjectRulesReview: { ...NAMED, 2: one("spec", { 1: text("namespace") }) },
  Service: { ...NAMED, 2: one("spec", SERVICE_SPEC) },
  ServiceAccount: NAMED,
};
