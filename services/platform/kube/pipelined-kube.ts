/** A Kubernetes port for thousands of kubelets in one process: their leases share a few connections. */
import type { Clock, Kube, ObjectRef, WriteReply, WriteRequest } from "../../../protocols/ports.ts";
import type { Answer } from "./transport/call.ts";
import type { HttpsWireOptions } from "./transport/https.ts";
import { readReplyOf, writeReplyOf } from "./transport/outcome.policy.ts";
import { objectPath } from "./transport/paths.ts";
import { Pipelines } from "./transport/pipelines.ts";
import { httpRequestOf, JSON_TYPE } from "./write/http-request.ts";

/** A field whose value is a string without escapes. */
const PLAIN_FIELD = '"[A-Za-z]+":"[^"\\\\]*"';
/** An object up to metadata's own resourceVersion: plain fields only. */
const VERSION = new RegExp(`^\\{(?:${PLAIN_FIELD},)*"metadata":\\{(?:${PLAIN_FIELD},)*?"resourceVersion":"(\\d+)"`);

/** Such a port, and the end of its connections. */
export interface PipelinedKube {
  readonly kube: Kube;
  close(): void;
}

/**
 * The port with all requests for single leases, and writes of nodes, through pipelines: without urgency, metrics or a
 * limit on requests in flight. Their author must wait for one answer before it sends the next write of the same object.
 * Behind a proxy all requests go through the port itself.
 */
export function pipelinedKube(kube: Kube, options: HttpsWireOptions, clock: Clock): PipelinedKube {
  if ((options.proxy ?? null) !== null) return { kube, close: () => {} };
  const pipelines = new Pipelines(options, clock);
  const pipelined: Kube = {
    ...kube,
    read(ref, done, place) {
      if (ref.kind !== "Lease") kube.read(ref, done, place);
      else {
        const http = { method: "GET", path: objectPath(ref), headers: { accept: JSON_TYPE }, body: null };
        pipelines.send(http, (answer) => done(readReplyOf(answer)));
      }
    },
    write(request, done) {
      const http = request.verb !== "evict" && isPipelined(request) ? httpRequestOf(request) : null;
      if (http === null) kube.write(request, done);
      else pipelines.send(http, (answer) => done(replyTo(request, answer)));
    },
  };
  return { kube: pipelined, close: () => pipelines.close() };
}

function replyTo(request: WriteRequest, answer: Answer): WriteReply {
  const isVersionEnough = request.verb === "update" && request.isVersionEnough === true;
  const short = isVersionEnough ? versionReplyOf(answer, request.ref) : null;
  return short ?? writeReplyOf(answer, request.ref);
}

/** The reply to a successful update, without parsing the object; null where it must be parsed. */
function versionReplyOf(answer: Answer, { name }: ObjectRef): WriteReply | null {
  const version = answer.kind === "answer" && answer.status === 200 ? VERSION.exec(answer.text)?.[1] : undefined;
  return version === undefined ? null : { outcome: "ok", object: { metadata: { name, resourceVersion: version } } };
}

function isPipelined({ ref, verb }: WriteRequest): boolean {
  return ref.kind === "Lease" || (ref.kind === "Node" && verb !== "delete");
}
