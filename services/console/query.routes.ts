/** Answers to queries over NATS, from the ledger of this process. Pure: no connection here. */
import type { Explanation, LedgerReader, NodeReport, Overview } from "../../protocols/ledger-reader.ts";
import { QUERIES, type QueryName } from "../../protocols/queries.ts";
import { listText } from "../domain/format.ts";
import { unknownNameText } from "../domain/suggest.ts";
import { namesZone, namesZoneOf } from "../domain/zone-key.ts";
import { parsed } from "../structures/json.ts";
import { explanationDocument, nodeDocument, podDocument, policyDocument, zoneDocument } from "./documents.ts";

/** The answer to a query: a document, or what is wrong with the query, with a code as HTTP has them. */
export type QueryAnswer =
  | { readonly document: object }
  | { readonly code: 400 | 404 | 413 | 500 | 503; readonly problem: string };

/** The answer while the policies are not known. */
export const POLICIES_UNKNOWN =
  "the node policies have not arrived in this process yet; /readyz says what it waits for";

/** Rows in an answer when a query sets no limit: they fit into a message. */
const LIMIT_STANDARD = 100;

type PayloadOf<Q extends QueryName> = ReturnType<(typeof QUERIES)[Q]["schema"]["parse"]>;

const ANSWERS: {
  readonly [Q in QueryName]: (query: PayloadOf<Q>, ledger: LedgerReader) => QueryAnswer | Promise<QueryAnswer>;
} = {
  zones(_query, ledger) {
    const { zones, watchHealth } = ledger.overview();
    return { document: { zones: zones.map(zoneDocument), watchHealth } };
  },
  nodes({ limit = LIMIT_STANDARD, ...selection }, ledger) {
    const nodes = selectedNodes(ledger, selection);
    const { watchHealth } = ledger.overview();
    return { document: { total: nodes.length, nodes: nodes.slice(0, limit).map(nodeDocument), watchHealth } };
  },
  policies(_query, ledger) {
    const policies = ledger.policies();
    if (policies === null) return { code: 503, problem: POLICIES_UNKNOWN };
    const { watchHealth } = ledger.overview();
    return { document: { policies: policies.map(policyDocument), watchHealth } };
  },
  pods({ limit = LIMIT_STANDARD }, ledger) {
    const { pendingEvictions: total, watchHealth }: Overview = ledger.overview();
    return { document: { total, pods: ledger.pendingEvictions(limit).map(podDocument), watchHealth } };
  },
  explain({ node, zone, policy, pod }, ledger) {
    const given = [node, zone, policy, pod].filter((subject) => subject !== undefined);
    if (given.length !== 1) return { code: 400, problem: 'name one subject, as in {"node":"worker-7"}' };
    const answer = (explained: Parameters<typeof explanationDocument>[0] | null): QueryAnswer =>
      explained === null
        ? { code: 404, problem: `${given[0]}: not found in the cluster or in the history; check the name` }
        : { document: explanationDocument(explained) };
    if (node !== undefined) return answer(ledger.explainNode(node));
    if (zone !== undefined) return documentOr(explanationOfZone(zone, ledger));
    if (policy !== undefined) return documentOr(explanationOfPolicy(policy, ledger));
    const [namespace = "", name = ""] = pod?.split("/") ?? [];
    return new Promise((resolve) => {
      ledger.explainPod(namespace, name, (explained) => resolve(answer(explained)));
    });
  },
};

type ProblemAnswer = Extract<QueryAnswer, { readonly problem: string }>;

function documentOr(explained: Explanation | ProblemAnswer): QueryAnswer {
  return "problem" in explained ? explained : { document: explanationDocument(explained) };
}

/** What a zone does and why, or why there is no answer. */
export function explanationOfZone(
  name: string,
  ledger: Pick<LedgerReader, "overview" | "explainZone">,
): Explanation | ProblemAnswer {
  const explained = ledger.explainZone(name);
  if (explained !== null) return explained;
  const { zones } = ledger.overview();
  const named = zones.filter(({ zone }) => namesZone(name, zone)).map(({ title }) => title);
  const titles = zones.map(({ title }) => title);
  const why = named.length > 1 ? `several zones have this name: ${listText(named)}` : unknownNameText("zones", titles);
  return { code: 404, problem: `zone ${name}: ${why}` };
}

/** Why a node policy does what it does, or why there is no answer. */
export function explanationOfPolicy(
  name: string,
  ledger: Pick<LedgerReader, "policies" | "explainPolicy">,
): Explanation | ProblemAnswer {
  const explained = ledger.explainPolicy(name);
  if (explained !== null) return explained;
  if (ledger.policies() === null) return { code: 503, problem: POLICIES_UNKNOWN };
  return {
    code: 404,
    problem:
      `policy ${name}: no node policy of this name is in force; vigil get policies lists them, ` +
      "and the condition Ready of a NodePolicy says whether it was refused",
  };
}

/** The answer to a query with this payload, a promise where it needs a live read. Never throws for a bad payload. */
export function answerQuery<Q extends QueryName>(
  name: Q,
  payload: string,
  ledger: LedgerReader,
): QueryAnswer | Promise<QueryAnswer> {
  const value = payload.trim() === "" ? {} : parsed(payload);
  if (value === undefined) return { code: 400, problem: `${name}: the payload is not JSON; leave it empty for all` };
  const checked = QUERIES[name].schema.safeParse(value);
  if (checked.success) return ANSWERS[name](checked.data as PayloadOf<Q>, ledger);
  const issue = checked.error.issues[0];
  const field = [name, ...(issue?.path.map(String) ?? [])].join(".");
  return { code: 400, problem: `${field}: ${issue?.message ?? "invalid"}` };
}

/** Which nodes are wanted; without a field, any. */
export interface NodeSelection {
  readonly names?: readonly string[] | undefined;
  readonly readiness?: string | null | undefined;
  readonly zone?: string | null | undefined;
  readonly policy?: string | null | undefined;
  /** A part of the name. */
  readonly search?: string | null | undefined;
}

const BY_TROUBLE: readonly string[] = ["unknown", "notReady", "starting", "ready"];

/** Orders nodes by trouble: the silent ones first, and among equals those of longest. */
export function byTrouble(left: NodeReport, right: NodeReport): number {
  return BY_TROUBLE.indexOf(left.readiness) - BY_TROUBLE.indexOf(right.readiness) || left.since - right.since;
}

/** The wanted nodes, sorted by name: a limit always keeps the same ones. */
export function selectedNodes(
  ledger: Pick<LedgerReader, "nodes">,
  { names = [], readiness = null, zone = null, policy = null, search = null }: NodeSelection,
): NodeReport[] {
  const wanted = new Set(names);
  return ledger
    .nodes()
    .filter((node) => readiness === null || node.readiness === readiness)
    .filter((node) => zone === null || namesZoneOf(zone, node.zone))
    .filter((node) => policy === null || node.policy === policy)
    .filter((node) => search === null || node.name.includes(search))
    .filter((node) => wanted.size === 0 || wanted.has(node.name))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
}
