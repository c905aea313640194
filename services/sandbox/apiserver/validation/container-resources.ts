/** Validation of container resources, with the real server's messages. */
import { childObject, type JsonObject, textOf } from "../api-objects.ts";
import { billionthsIn } from "../canonical-quantity.ts";
import { type FieldProblem, required, wrong } from "./problems.ts";

/** The problems of a container's requests and limits. */
export function resourceProblems(container: JsonObject, at: string): FieldProblem[] {
  const resources = childObject(container, "resources");
  const limits = childObject(resources, "limits");
  const requests = childObject(resources, "requests");
  return [
    ...negatives(limits, `${at}.resources.limits`),
    ...Object.keys(requests).flatMap((resource) => [
      ...negatives({ [resource]: requests[resource] ?? "" }, `${at}.resources.requests`),
      ...beyondLimit(resource, requests, limits, `${at}.resources`),
    ]),
  ];
}

function negatives(amounts: JsonObject, at: string): FieldProblem[] {
  return Object.keys(amounts)
    .filter((resource) => amountOf(amounts, resource) < 0n)
    .map((resource) => wrong(`${at}[${resource}]`, textOf(amounts, resource), "must be greater than or equal to 0"));
}

function beyondLimit(resource: string, requests: JsonObject, limits: JsonObject, at: string): FieldProblem[] {
  const shared = isOvercommittable(resource);
  if (limits[resource] === undefined) {
    return shared ? [] : [required(`${at}.limits`, "Limit must be set for non overcommitable resources")];
  }
  const beyond = amountOf(requests, resource) - amountOf(limits, resource);
  const refused = (why: string): FieldProblem[] => [wrong(`${at}.requests`, textOf(requests, resource), why)];
  if (!shared && beyond !== 0n) return refused(`must be equal to ${resource} limit`);
  return beyond > 0n ? refused(`must be less than or equal to ${resource} limit`) : [];
}

/** Requests may be below limits for native resources except huge pages. */
function isOvercommittable(resource: string): boolean {
  const isNative = !resource.includes("/") || /(^|\.)kubernetes\.io\//.test(resource);
  return isNative && !resource.startsWith("hugepages-");
}

function amountOf(amounts: JsonObject, resource: string): bigint {
  return billionthsIn(textOf(amounts, resource)) ?? 0n;
}
