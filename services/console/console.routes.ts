/** What the console answers to which path. It reads the ledger and changes nothing, and has no socket. */
import type { LedgerReader, Overview, PendingEviction } from "../../protocols/ledger-reader.ts";
import { type Check, probeAnswer } from "./readiness.policy.ts";

/** An answer, whole. */
export interface RouteAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** What the process tells of itself. */
export interface About {
  readonly cluster: string;
  readonly member: string;
  readonly services: readonly string[];
  /** Whether writes are only recorded. */
  readonly shadow: boolean;
  readonly version: string;
}

/** Where answers come from. */
export interface RouteSources {
  readonly about: About;
  /** Null in a process without a ledger. */
  readonly ledger: LedgerReader | null;
  readonly readiness: () => readonly Check[];
}

/** The state that the page follows. */
export interface Snapshot extends Overview {
  readonly evictions: readonly PendingEviction[];
}

/** How many pending evictions the page is shown. */
const EVICTIONS_SHOWN = 100;
const LIMIT_STANDARD = 100;
const LIMIT_MAX = 10_000;
const PING: readonly Check[] = [{ name: "ping", problem: null }];
const LIVENESS: readonly string[] = ["/livez", "/healthz"];
const TEXT_TYPE = "text/plain; charset=utf-8";

/** The state that the page follows, as it is now. */
export function snapshotOf(ledger: LedgerReader): Snapshot {
  return { ...ledger.overview(), evictions: ledger.pendingEvictions(EVICTIONS_SHOWN) };
}

/**
 * The answer to a GET of any path while the process cannot run yet, and why not: it lives, and there is nothing else to
 * tell.
 */
export function answerWaiting({ pathname, searchParams }: URL, why: string): RouteAnswer {
  if (LIVENESS.includes(pathname)) return probe(pathname, PING, searchParams);
  return pathname.startsWith("/api/") ? problem(503, why) : { status: 503, contentType: TEXT_TYPE, body: `${why}\n` };
}

/** The answer to a GET of a path, which may have to wait for a live read; null when there is nothing under it. */
export function answerTo(url: URL, sources: RouteSources): RouteAnswer | Promise<RouteAnswer> | null {
  const { pathname, searchParams } = url;
  if (LIVENESS.includes(pathname)) return probe(pathname, PING, searchParams);
  if (pathname === "/readyz") return probe(pathname, sources.readiness(), searchParams);
  if (pathname === "/api/about") return json(200, sources.about);
  if (!pathname.startsWith("/api/")) return null;
  const { ledger } = sources;
  if (ledger === null) return problem(404, `${pathname}: this process runs no ledger, ask one that does`);
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
  const limit = limitOf(query);
  if (typeof limit !== "number") return limit;
  if (topic === "evictions") {
    const { pendingEvictions: count, watchHealth } = ledger.overview();
    return json(200, { count, next: ledger.pendingEvictions(limit), watchHealth });
  }
  return topic === "decisions" ? json(200, ledger.decisions(limit)) : null;
}

function nodes(query: URLSearchParams, ledger: LedgerReader): RouteAnswer {
  const limit = limitOf(query);
  if (typeof limit !== "number") return limit;
  const { nodes: counts, watchHealth } = ledger.overview();
  const readiness = query.get("readiness");
  if (readiness !== null && !Object.hasOwn(counts, readiness)) {
    return problem(400, `readiness: ${JSON.stringify(readiness)} is none of ${Object.keys(counts).join(", ")}`);
  }
  const wanted = ledger.nodes().filter((node) => readiness === null || node.readiness === readiness);
  // By name, so that it is the same ones whoever asks for the first few.
  const sorted = wanted.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  return json(200, { counts, nodes: sorted.slice(0, limit), watchHealth });
}

function explanation(
  [kind, ...name]: readonly string[],
  ledger: LedgerReader,
): RouteAnswer | Promise<RouteAnswer> | null {
  const [first = "", second = ""] = name;
  if (kind === "node" && name.length === 1) {
    return known(ledger.explainNode(first), `node ${first}: nothing is known of it, neither now nor in the history`);
  }
  if (kind !== "pod" || name.length !== 2) return null;
  const otherwise = `pod ${first}/${second}: it is not there, and nothing was ever decided about it`;
  return new Promise((resolve) => {
    ledger.explainPod(first, second, (explained) => resolve(known(explained, otherwise)));
  });
}

function known(explained: object | null, otherwise: string): RouteAnswer {
  return explained === null ? problem(404, otherwise) : json(200, explained);
}

function limitOf(query: URLSearchParams): number | RouteAnswer {
  const text = query.get("limit");
  if (text === null) return LIMIT_STANDARD;
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 0 && limit <= LIMIT_MAX && text !== "") return limit;
  return problem(400, `limit: ${JSON.stringify(text)} is no whole number from 0 to ${LIMIT_MAX}`);
}

function probe(path: string, checks: readonly Check[], query: URLSearchParams): RouteAnswer {
  const { status, text } = probeAnswer(path.slice(1), checks, query.has("verbose"));
  return { status, contentType: TEXT_TYPE, body: text };
}

function json(status: number, value: unknown): RouteAnswer {
  return { status, contentType: "application/json; charset=utf-8", body: `${JSON.stringify(value)}\n` };
}
