/** What makes an object unacceptable, as causes of a 422 in the real server's words. It changes nothing. */
import { type ApiObject, childList, childObject, isObject, type JsonObject, textOf } from "./objects.ts";
import type { StorageName } from "./resources.ts";
import type { FieldProblem } from "./status.ts";

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const LABEL_WORDS =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
  "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_WORDS =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

function required(field: string, why = ""): FieldProblem {
  return { type: "FieldValueRequired", field, message: why === "" ? "Required value" : `Required value: ${why}` };
}

function wrong(field: string, value: unknown, why: string): FieldProblem {
  return { type: "FieldValueInvalid", field, message: `Invalid value: ${JSON.stringify(value)}: ${why}` };
}

function unsupported(field: string, value: string, supported: readonly string[]): FieldProblem {
  const list = supported.map((one) => JSON.stringify(one)).join(", ");
  return {
    type: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`,
  };
}

function nameProblems(storage: StorageName, name: string): FieldProblem[] {
  if (name === "") return [required("metadata.name", "name or generateName is required")];
  const [form, words, longest] =
    storage === "namespaces" ? [LABEL, LABEL_WORDS, 63] : [SUBDOMAIN, SUBDOMAIN_WORDS, 253];
  const problems: FieldProblem[] = [];
  if (name.length > Number(longest)) {
    problems.push(wrong("metadata.name", name, `must be no more than ${longest} characters`));
  }
  if (!form.test(name)) problems.push(wrong("metadata.name", name, words));
  return problems;
}

const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

function nodeProblems(object: ApiObject): FieldProblem[] {
  const taints = childList(childObject(object, "spec"), "taints");
  return taints.flatMap((taint, index) => {
    const at = `spec.taints[${index}]`;
    const effect = textOf(taint, "effect");
    if (effect === "") return [required(`${at}.effect`)];
    if (!TAINT_EFFECTS.includes(effect)) return [unsupported(`${at}.effect`, effect, TAINT_EFFECTS)];
    const same = (other: JsonObject): boolean => other.key === taint.key && other.effect === taint.effect;
    if (taints.findIndex(same) < index) {
      return [
        {
          type: "FieldValueDuplicate" as const,
          field: at,
          message: `Duplicate value: ${JSON.stringify(taint)}`,
        },
      ];
    }
    return [];
  });
}

function podSpecProblems(spec: JsonObject, at: string): FieldProblem[] {
  const containers = childList(spec, "containers");
  if (containers.length === 0) return [required(`${at}.containers`)];
  return containers.flatMap((container, index) => {
    const here = `${at}.containers[${index}]`;
    const name = textOf(container, "name");
    const problems: FieldProblem[] = [];
    if (name === "") problems.push(required(`${here}.name`));
    else if (!LABEL.test(name)) problems.push(wrong(`${here}.name`, name, LABEL_WORDS));
    if (textOf(container, "image") === "") problems.push(required(`${here}.image`));
    return problems;
  });
}

function daemonSetProblems(object: ApiObject): FieldProblem[] {
  const spec = childObject(object, "spec");
  const template = childObject(spec, "template");
  const problems: FieldProblem[] = [];
  if (!isObject(spec.selector)) problems.push(required("spec.selector"));
  return [...problems, ...podSpecProblems(childObject(template, "spec"), "spec.template.spec")];
}

function leaseProblems(object: ApiObject): FieldProblem[] {
  const seconds = childObject(object, "spec").leaseDurationSeconds;
  return typeof seconds === "number" && seconds <= 0
    ? [wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0")]
    : [];
}

const OF_KIND: Readonly<Partial<Record<StorageName, (object: ApiObject) => FieldProblem[]>>> = {
  nodes: nodeProblems,
  pods: (object) => podSpecProblems(childObject(object, "spec"), "spec"),
  daemonsets: daemonSetProblems,
  leases: leaseProblems,
};

/** Everything that is wrong with an object, in the order of its fields. */
export function problemsOf(storage: StorageName, object: ApiObject): FieldProblem[] {
  return [...nameProblems(storage, object.metadata.name), ...(OF_KIND[storage]?.(object) ?? [])];
}
