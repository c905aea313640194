/**
 * Deletions from lists of fields, because a contributor who adds a field may forget a line. Each does not compile, or
 * fails a unit test. This file runs nothing.
 */
import type { ObservedNode } from "../../protocols/objects.ts";
import type { PlantedChange } from "../support/planted-change.ts";

/** A deletion that does not compile; `reported` is the name in the compiler's message. */
interface UncompiledDeletion extends PlantedChange {
  readonly reported: string;
}

/** A deletion that compiles and fails a test of this file. */
interface FailingDeletion extends PlantedChange {
  readonly test: string;
}

const uncompiled = (name: string, file: string, from: string, reported: string): UncompiledDeletion => ({
  name,
  file,
  from,
  to: "",
  reported,
});

const ATTEMPT = "services/node-writer/node-write-attempt.ts";

/** Deletions from lists that are complete by their types; all of them are compiled at once. */
export const UNCOMPILED: readonly UncompiledDeletion[] = [
  uncompiled("the role of a verdict's basis", ATTEMPT, 'basis: "basis", ', "basis"),
  uncompiled("the role of a label's annotations", ATTEMPT, 'annotations: "change", ', "annotations"),
  uncompiled("the role of a taint's Ready status", ATTEMPT, '    ready: "change",\n', "ready"),
  uncompiled(
    "the reader of an annotation",
    "services/platform/kube/watch/node-annotations.ts",
    "  holds: {\n" +
      "    ...reader(Annotation.holds, { read: readMaintenanceWindows, write: maintenanceWindowsText }, []),\n" +
      "    ...aboutConditions,\n  },\n",
    "holds",
  ),
  uncompiled(
    "a field of a zone's announcement",
    "services/zone/zone.actor.ts",
    "      queueLength: this.#queue.size,\n",
    "queueLength",
  ),
  uncompiled(
    "an operator of label selectors",
    "services/sandbox/apiserver/store/label-selector.ts",
    "  NotIn: true,\n",
    "NotIn",
  ),
  uncompiled(
    "the change of a field that the observer publishes",
    "test/observer/observer.policy.test.ts",
    "    outOfServiceAt: 5,\n",
    "outOfServiceAt",
  ),
  uncompiled(
    "the change of a field that a request names",
    "test/node-writer/node-write-attempt.test.ts",
    "    taintsOmitted: 1,\n",
    "taintsOmitted",
  ),
];

/** Fields that only policies and shadow mode need, so that few other tests show whether their changes are published. */
const UNPUBLISHED = [
  "policyLabels",
  "readyTransitionsAt",
  "conditionSightings",
  "holds",
  "conditionTaints",
  "provedDown",
  "outOfServiceAt",
  "shadow",
] as const satisfies readonly (keyof ObservedNode)[];
const COMPARED = "{ resourceVersion: _version, conditions, ...state }";
const unpublished = (field: string): FailingDeletion => ({
  name: `${field}, when the observer compares a node`,
  file: "services/observer/observer.policy.ts",
  from: COMPARED,
  to: COMPARED.replace("...", `${field}: _field, ...`),
  test: "test/observer/observer.policy.test.ts",
});
/** Under another name an operator is as good as deleted. */
const operator = (name: string): FailingDeletion => ({
  name: `${name || "none"}, as the operator of a toleration`,
  file: "services/domain/toleration.ts",
  from: `  ["${name}", {`,
  to: `  ["no ${name}", {`,
  test: "test/taint-manager/toleration.test.ts",
});

/** Deletions that the compiler lets pass. */
export const FAILING: readonly FailingDeletion[] = [
  ...UNPUBLISHED.map(unpublished),
  {
    name: "the exception of heartbeat times, when the observer compares a node",
    file: "services/observer/observer.policy.ts",
    test: "test/observer/observer.policy.test.ts",
    from: "({ heartbeatAt: _at, ...condition }) => condition",
    to: "(condition) => condition",
  },
  operator("Lt"),
  operator("Gt"),
  operator("Equal"),
  operator("Exists"),
  operator(""),
];
