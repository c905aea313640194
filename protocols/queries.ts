/**
 * Queries over NATS: what `vigil get` and `vigil explain` show, for any NATS client. A query is a request whose payload
 * is empty or a JSON object; a process with a ledger answers with JSON. docs/listen.md has examples.
 */
import { z } from "zod";
import { count, LIMIT_MAX, NAME_CHARACTERS_MAX, name } from "./bounds.ts";
import {
  explanationDocument,
  nodeDocument,
  podDocument,
  policyDocument,
  watchHealthDocument as watchHealth,
  zoneDocument,
} from "./documents.ts";
import { readinessSchema } from "./judged.ts";
import type { ServiceName } from "./ports.ts";
import { SUBJECT_ROOT, token } from "./subjects.ts";

/** The service whose processes answer queries. */
export const QUERY_ANSWERER: ServiceName = "ledger";

const limit = count.max(LIMIT_MAX).optional();
const NAMES_MAX = 1000;

/** Every query: the schemas of its payload and of its answer, and what it answers. */
export const QUERIES = {
  zones: {
    schema: z.strictObject({}),
    answer: z.object({ zones: z.array(zoneDocument), watchHealth }),
    purpose: "the zones: state, eviction rate, queue",
  },
  nodes: {
    schema: z.strictObject({
      names: z.array(name).max(NAMES_MAX).optional(),
      readiness: readinessSchema.optional(),
      /** As people name it: `region/zone`, or `zone`. */
      zone: name.optional(),
      policy: name.optional(),
      limit,
    }),
    answer: z.object({ total: count, nodes: z.array(nodeDocument), watchHealth }),
    purpose: "the nodes: readiness, last heartbeat, eviction",
  },
  policies: {
    schema: z.strictObject({}),
    answer: z.object({ policies: z.array(policyDocument), watchHealth }),
    purpose: "the node policies: their nodes, limits and freezes",
  },
  pods: {
    schema: z.strictObject({ limit }),
    answer: z.object({ total: count, pods: z.array(podDocument), watchHealth }),
    purpose: "the pods to be evicted, soonest first",
  },
  explain: {
    schema: z.strictObject({
      node: name.optional(),
      zone: name.optional(),
      policy: name.optional(),
      /** `namespace/name`. */
      pod: z
        .string()
        .max(2 * NAME_CHARACTERS_MAX)
        .regex(/^[^/]+\/[^/]+$/, "must be namespace/name")
        .optional(),
    }),
    answer: explanationDocument,
    purpose: "why a node, a zone or a pod is in its state, and what a node policy does",
  },
} as const;

/** The name of a query. */
export type QueryName = keyof typeof QUERIES;

/** The subject of a query. */
export function querySubject(cluster: string, query: QueryName): string {
  return `${SUBJECT_ROOT}.${token(cluster)}.query.${query}`;
}
