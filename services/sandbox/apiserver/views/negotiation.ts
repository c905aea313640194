/** Content negotiation by the Accept header: objects as they are, or a Table. */

import { ApiFailure } from "../api-status.ts";
import type { Call } from "../routes.ts";
import { type RowObject, tableRenderer } from "./kubectl-table.ts";
import { objectRenderer, type Renderer } from "./render.ts";

const OFFERED = "application/json";

/** The renderer for the first acceptable form. Throws a 406 when there is none. */
export function rendererFor(call: Call, wallMs: () => number): Renderer {
  const accept = call.headers.accept ?? "";
  if (accept === "" || accept === OFFERED) return objectRenderer(call.resource);
  for (const range of accept.split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (!["*/*", "application/*", OFFERED].includes(type)) continue;
    const wanted = new Map(parameters.map((parameter) => parameter.split("=") as [string, string]));
    const form = wanted.get("as");
    if (form === undefined) return objectRenderer(call.resource);
    const version = wanted.get("v");
    if (form !== "Table" || wanted.get("g") !== "meta.k8s.io") continue;
    if (version !== "v1" && version !== "v1beta1") continue;
    return tableRenderer(call.resource, { apiVersion: `meta.k8s.io/${version}`, rowObject: rowObjectOf(call), wallMs });
  }
  const message = `only the following media types are accepted: ${OFFERED}`;
  throw new ApiFailure({ code: 406, reason: "NotAcceptable", message });
}

function rowObjectOf(call: Call): RowObject {
  const requested = call.query.get("includeObject") ?? "";
  return requested === "None" || requested === "Object" ? requested : "Metadata";
}
