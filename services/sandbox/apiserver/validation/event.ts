/** What makes an Event unacceptable: its two generations have different rules. It changes nothing. */

import { type ApiObject, textAt, textOf } from "../api-objects.ts";
import { qualifiedNameProblems } from "./object-names.ts";
import { type FieldProblem, required, wrong } from "./problems.ts";

/** Everything that is wrong with an Event in its stored form. Events with an eventTime are held to more. */
export function eventProblems(event: ApiObject): FieldProblem[] {
  return event.eventTime === null || event.eventTime === undefined ? placeProblems(event) : newEventProblems(event);
}

/** An Event lives where its object does; about an object without a namespace it lives in `default`. */
function placeProblems(event: ApiObject): FieldProblem[] {
  const { namespace = "" } = event.metadata;
  const regarded = textAt(event, "involvedObject.namespace");
  return (regarded === "" ? "default" : regarded) === namespace ? [] : [misplaced(regarded)];
}

function misplaced(namespace: string): FieldProblem {
  return wrong("involvedObject.namespace", namespace, "does not match event.namespace");
}

/** Of the new kind, one about an object without a namespace lives in `kube-system`. */
function newEventProblems(event: ApiObject): FieldProblem[] {
  const regarded = textAt(event, "involvedObject.namespace");
  const place = regarded === "" && event.metadata.namespace !== "kube-system" ? [misplaced(regarded)] : [];
  const controller = textOf(event, "reportingComponent");
  const given = [
    ["reportingController", controller],
    ["reportingInstance", textOf(event, "reportingInstance")],
    ["action", textOf(event, "action")],
    ["reason", textOf(event, "reason")],
  ] as const;
  const missing = given.filter(([, value]) => value === "").map(([field]) => required(field));
  const misnamed = controller === "" ? [] : qualifiedNameProblems(controller);
  return [...place, ...missing, ...misnamed.map((why) => wrong("reportingController", controller, why))];
}
