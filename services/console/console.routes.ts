/** The console's read-only routes: which path gives which answer. No socket here. */
import { LIMIT_MAX } from "../../protocols/bounds.ts";
import type {
  Explanation,
  LedgerReader,
  Overview,
  PendingEviction,
  PolicyReport,
} from "../../protocols/ledger-reader.ts";
import type { Profile } from "../../protocols/profile.ts";
import { byTrouble, explanationOfPolicy, explanationOfZone, POLICIES_UNKNOWN, selectedNodes } from "./query.routes.ts";
import { type Check, probeAnswer } from "./readiness.policy.ts";

/** A complete answer. */
export interface RouteAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** What a process reports of itself. */
export interface About {
  readonly cluster: string;
  readonly member: string;
  readonly services: readonly string[];
  /** Whether writes are only recorded. */
  readonly shadow: boolean;
  /** Whether it works beside kube-controller-manager. Then that evicts, and Vigil evicts no pod. */
  readonly beside: boolean;
  readonly version: string;
  /** Where Grafana is, for a link; absent where it is not configured. */
  readonly grafanaUrl?: string;
  /** The flags that decide what follows from a failure, as `vigil preview --server` needs them. */
  readonly settings?: Readonly<Partial<Profile>>;
}

/** What answers are made from. */
export interface RouteSources {
  readonly about: About;
  /** Null in a process without a ledger. */
  readonly ledger: LedgerReader | null;
  /** The members of the fleet; rejects with an Error of one line while they are not known. */
  readonly fleet: () => Promise<readonly object[]>;
  readonly readiness: () => readonly Check[];
  /** Why this process does not speak for the cluster, such as that another one leads; null while it does. */
  readonly standby: string | null;
}

/** The state that the dashboard shows. */
export interface Snapshot extends Overview {
  readonly evictions: readonly PendingEviction[];
  /** None while they are not known. */
  readonly policies: readonly PolicyReport[];
}

const EVICTIONS_SHOWN = 100;
const LIMIT_STANDARD = 100;
const PING: readonly Check[] = [{ name: "ping", problem: null }];
const LIVENESS: readonly string[] = ["/livez", "/healthz"];
const TEXT_TYPE = "text/plain; charset=utf-8";

/** The present state for the dashboard. */
export function snapshotOf(ledger: LedgerReader): Snapshot {
  return {
    ...ledger.overview(),
    evictions: ledger.pendingEvictions(EVICTIONS_SHOWN),
    policies: ledger.policies() ?? [],
  };
}

/** The answer to a GET while the process waits for something: liveness is ok, all else is 503 with the reason. */
export function answerWaiting({ pathname, searchParams }: URL, why: string): RouteAnswer {
  if (LIVENESS.includes(pathname)) return probe(pathname, PING, searchParams);
  return pathname.startsWith("/api/") ? problem(503, why) : { status: 503, contentType: TEXT_TYPE, body: `${why}\n` };
}

/** The answer to a GET, a promise where it needs a live read; null for an unknown path. */
export function answerTo(url: URL, sources: RouteSources): RouteAnswer | Promise<RouteAnswer> | null {
  const { pathname, searchParams } = url;
  if (LIVENESS.includes(pathname)) return probe(pathname, PING, searchParams);
  if (pathname === "/readyz") return probe(pathname, sources.readiness(), searchParams);
  if (pathname === "/api/about") return json(200, sources.about);
  if (pathname === "/api/fleet") {
    return sources.fleet().then(
      (members) => json(200, members),
      ({ message }: Error) => problem(503, message),
    );
  }
  if (!pathname.startsWith("/api/")) return null;
  const { ledger, standby } = sources;
  if (ledger === null)
    return problem(404, `${pathname}: this process runs no ledger; use the console of one that does`);
  if (standby !== null) return problem(503, standby);
  const path = decoded(pathname.split("/").slice(2));
  if (path === null) return problem(400, `${pathname}: a % must be followed by two hex digits`);
  return ledgerAnswer(path, searchParams, ledger);
}

/** An error as JSON. */
export function problem(status: number, error: string): RouteAnswer {
  return json(status, { error });
}

function decoded(parts: readonly string[]): readonly string[] | null {
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return null;
  }
}

function ledgerAnswer(
  path: readonly string[],
  query: URLSearchParams,
  ledger: LedgerReader,
): RouteAnswer | Promise<RouteAnswer> | null {
  const [topic, ...rest] = path;
  if (topic === "explain") return explanation(rest, ledger);
  if (rest.length > 0) return null;
  if (topic === "overview") return json(200, ledger.overview());
  if (topic === "zones") return json(200, ledger.overview().zones);
  if (topic === "nodes") return nodes(query, ledger);
  if (topic === "policies") return policies(ledger);
  if (topic === "timeline") return json(200, ledger.timeline());
  if (topic === "compare") return comparison(query, ledger);
  const limit = limitOf(query);
  if (typeof limit !== "number") return limit;
  if (topic === "evictions") {
    const { pendingEvictions: count, watchHealth } = ledger.overview();
    return json(200, { count, next: ledger.pendingEvictions(limit), watchHealth });
  }
  return topic === "decisions" ? json(200, ledger.decisions(limit)) : null;
}

function policies(ledger: LedgerReader): RouteAnswer {
  const known = ledger.policies();
  if (known === null) return problem(503, POLICIES_UNKNOWN);
  return json(200, { policies: known, watchHealth: ledger.overview().watchHealth });
}

function nodes(query: URLSearchParams, ledger: LedgerReader): RouteAnswer {
  const limit = limitOf(query);
  if (typeof limit !== "number") return limit;
  const { nodes: counts, watchHealth } = ledger.overview();
  const readiness = query.get("readiness");
  if (readiness !== null && !Object.hasOwn(counts, readiness)) {
    return problem(400, `readiness=${JSON.stringify(readiness)}: must be one of ${Object.keys(counts).join(", ")}`);
  }
  const order = query.get("order") ?? "name";
  if (order !== "name" && order !== "trouble")
    return problem(400, `order=${JSON.stringify(order)}: must be name or trouble`);
  const [zone, policy, search] = ["zone", "policy", "search"].map((name) => query.get(name));
  const selected = selectedNodes(ledger, { readiness, zone, policy, names: query.getAll("name"), search });
  const wanted = order === "trouble" ? selected.sort(byTrouble) : selected;
  return json(200, { counts, total: wanted.length, nodes: wanted.slice(0, limit), watchHealth });
}

function comparison(query: URLSearchParams, ledger: LedgerReader): RouteAnswer {
  const text = query.get("since") ?? "0";
  const sinceAt = Number(text);
  if (Number.isInteger(sinceAt) && text !== "") return json(200, ledger.compare(sinceAt));
  return problem(400, `since=${JSON.stringify(text)}: must be epoch milliseconds`);
}

function explanation(
  [kind, ...name]: readonly string[],
  ledger: LedgerReader,
): RouteAnswer | Promise<RouteAnswer> | null {
  const [first = "", second = ""] = name;
  if (kind === "node" && name.length === 1) {
    return found(ledger.explainNode(first), `node ${first}`);
  }
  if (kind === "zone" && name.length === 1) {
    return explanationOr(explanationOfZone(first, ledger));
  }
  if (kind === "policy" && name.length === 1) {
    return explanationOr(explanationOfPolicy(first, ledger));
  }
  if (kind !== "pod" || name.length !== 2) return null;
  return new Promise((resolve) => {
    ledger.explainPod(first, second, (explained) => resolve(found(explained, `pod ${first}/${second}`)));
  });
}

function explanationOr(explained: ReturnType<typeof explanationOfPolicy>): RouteAnswer {
  return "problem" in explained ? problem(explained.code, explained.problem) : explanationAnswer(explained);
}

function found(explained: Explanation | null, subject: string): RouteAnswer {
  if (explained !== null) return explanationAnswer(explained);
  return problem(404, `${subject}: not found in the cluster or in the history; check the name`);
}

function explanationAnswer({ sentences, names, timeline }: Explanation): RouteAnswer {
  return json(200, { sentences, names, timeline });
}

function limitOf(query: URLSearchParams): number | RouteAnswer {
  const text = query.get("limit");
  if (text === null) return LIMIT_STANDARD;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 0 && limit <= LIMIT_MAX && text !== "") return limit;
  return problem(400, `limit=${JSON.stringify(text)}: must be a whole number from 0 to ${LIMIT_MAX}`);
}

function probe(path: string, checks: readonly Check[], query: URLSearchParams): RouteAnswer {
  const { status, text } = probeAnswer(path.slice(1), checks, query.has("verbose"));
  return { status, contentType: TEXT_TYPE, body: text };
}

function json(status: number, value: unknown): RouteAnswer {
  return { status, contentType: "application/json; charset=utf-8", body: `${JSON.stringify(value)}\n` };
}
