/** The Kubernetes port on any wire: watch readers and one writer. */
import type {
  Io,
  Kube,
  KubeReviews,
  Metrics,
  ReadReply,
  Watched,
  WatchOptions,
  WatchSink,
  Wire,
} from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import { Interner } from "../../structures/interner.ts";
import { limitedWarn } from "../process/log.limited.ts";
import type { ApiReachability } from "./transport/reachability.ts";
import { KeptServerVersion } from "./transport/server-version.ts";
import { listComponentLeases } from "./watch/component-leases.ts";
import { readLeaseHistory } from "./watch/lease-history.ts";
import { ProvenWatch, type ProvenWatchIo } from "./watch/proven-watch.ts";
import { ShownVersions } from "./watch/shown-versions.ts";
import { Reader } from "./watch/watch-reader.ts";
import { WATCHED } from "./watch/watched.ts";
import { type ObservedRequest, Writer } from "./write/writer.ts";

/** What the Kubernetes port needs. */
export interface KubeIo extends Pick<Io, "clock" | "random" | "log" | "metrics"> {
  readonly wire: Wire;
  /** The machine's own wall clock; absent where `clock` already has it. */
  readonly machineWallMs?: () => number;
  readonly profile: Pick<
    Profile,
    "bounds" | "watchBlindMs" | "kubeApiQps" | "kubeApiBurst" | "writesInFlightMax" | "nodeMonitorGraceMs"
  >;
  /** Whether this process reaches the API server; absent when it is not measured. `wire` must be its wire. */
  readonly reachability?: ApiReachability;
  /** Upper limit on the wait for any write or live read, in milliseconds; absent where the usual timeouts apply. */
  readonly patienceMs?: number;
}

const LATENCY_BUCKETS_S = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];

/** An unreadable field is reported again with every heartbeat of its author. */
const UNREADABLE_PAUSE_MS = 60_000;

/** A client of one API server. Nothing is sent before the first call. */
export function createKube(io: KubeIo): Kube & KubeReviews {
  const { wire, clock, random, log, metrics, profile, patienceMs, reachability = null } = io;
  const interner = new Interner();
  const counts = readerMetrics(metrics);
  const warn = limitedWarn(log, clock, UNREADABLE_PAUSE_MS);
  const observe = writerMetrics(metrics);
  const writer = new Writer({
    wire,
    clock,
    machineWallMs: io.machineWallMs ?? (() => clock.wallMs()),
    inFlightMax: profile.writesInFlightMax,
    perSecondMax: profile.kubeApiQps,
    burst: profile.kubeApiBurst,
    graceMs: profile.nodeMonitorGraceMs,
    patienceMs: patienceMs ?? Number.POSITIVE_INFINITY,
    reachability,
    observe: (request) => observe(request, writer.load()),
  });
  const shared = { wire, clock, random, log, reachability, shown: new ShownVersions() };
  const version = new KeptServerVersion({ wire, clock });
  const proven = provenWatches({ wire, clock, bounds: profile.bounds }, (request) => observe(request, writer.load()));
  return {
    watch<K extends keyof Watched>(what: K, sink: WatchSink<Watched[K]>, options: WatchOptions = {}) {
      return new Reader<Watched[K]>(what, WATCHED[what], sink, {
        ...shared,
        proven: proven[what],
        watchBlindMs: profile.watchBlindMs,
        projection: {
          interner,
          problem(field, line) {
            counts.problems.add(1, what, field);
            if (line !== undefined) warn(line, {});
          },
          ...options,
        },
        count: { list: (reason) => counts.lists.add(1, what, reason), line: () => counts.lines.add(1, what) },
      });
    },
    read: (ref, done, place) => writer.read(ref, done, place),
    readShown: readShownWith(writer, proven),
    write: (request, done) => writer.write(request, done),
    minorVersion: (done) => version.minor(done),
    leaseHistory: (fromVersion, done) => readLeaseHistory({ wire, clock, log }, fromVersion, done),
    componentLeases: (done) => listComponentLeases({ wire, clock }, done),
    review: (kind, spec, done) => writer.review(kind, spec, done),
  };
}

type ProvenWatches = { readonly [K in keyof Watched]: ProvenWatch<Watched[K]> };

function provenWatches(
  io: Pick<ProvenWatchIo, "wire" | "clock" | "bounds">,
  observe: (request: ObservedRequest) => void,
): ProvenWatches {
  const provenOf = <K extends keyof Watched>(what: K, kind: ObservedRequest["kind"]): ProvenWatch<Watched[K]> => {
    const { path, listSelectors: selectors } = WATCHED[what];
    const observed = (outcome: "ok" | "failed", latencyMs: number) =>
      observe({ verb: "get", kind, outcome, latencyMs });
    return new ProvenWatch<Watched[K]>({ ...io, path, selectors, observe: observed });
  };
  return {
    nodes: provenOf("nodes", "Node"),
    leases: provenOf("leases", "Lease"),
    pods: provenOf("pods", "Pod"),
    policies: provenOf("policies", "NodePolicy"),
    freezes: provenOf("freezes", "ConfigMap"),
  };
}

function readShownWith(writer: Writer, proven: ProvenWatches): Kube["readShown"] {
  return (what, ref, done, { place, sentSinceMs = Number.NEGATIVE_INFINITY }) => {
    const sent = proven[what].expect();
    const answered = (reply: ReadReply): void => {
      sent();
      done(reply);
    };
    writer.read(ref, answered, place, () => {
      sent();
      const view = proven[what].view(sentSinceMs);
      const object = view?.held(what === "pods" ? ref.namespace : "", ref.name) ?? null;
      return view === null || object === null ? null : () => done({ outcome: "shown", object, view });
    });
  };
}

function readerMetrics(metrics: Metrics) {
  const counter = (name: string, help: string, ...labels: string[]) => metrics.counter({ name, help, labels });
  const unreadable =
    "Fields of API objects that were dropped or replaced by a neutral value, because they were missing or absurd.";
  return {
    lists: counter("vigil_kube_lists_total", "Lists started, by resource and reason.", "resource", "reason"),
    lines: counter("vigil_kube_watch_lines_total", "Lines received from watches: events and bookmarks.", "resource"),
    problems: counter("vigil_kube_unreadable_total", unreadable, "resource", "field"),
  };
}

function writerMetrics(metrics: Metrics) {
  const gauge = (name: string, help: string) => metrics.gauge({ name, help });
  const requests = metrics.counter({
    name: "vigil_kube_requests_total",
    help: "Writes, live reads and reviews, by verb, kind and outcome.",
    labels: ["verb", "kind", "outcome"],
  });
  const seconds = metrics.histogram({
    name: "vigil_kube_request_duration_seconds",
    help: "Duration of writes and live reads.",
    labels: ["verb"],
    buckets: LATENCY_BUCKETS_S,
  });
  const waiting = gauge("vigil_kube_requests_waiting", "Writes and live reads that wait in the queue.");
  const underWay = gauge("vigil_kube_requests_in_flight", "Writes and live reads in flight.");
  const stalled = gauge("vigil_kube_requests_stalled", "Writes and live reads that hang while others are answered.");
  const limit = gauge(
    "vigil_kube_requests_in_flight_limit",
    "How many writes and live reads may be in flight at once; follows the latency of the API server.",
  );
  return ({ verb, kind, outcome, latencyMs }: ObservedRequest, load: ReturnType<Writer["load"]>): void => {
    requests.add(1, verb, kind, outcome);
    seconds.observe(latencyMs / 1000, verb);
    waiting.set(load.waiting);
    underWay.set(load.underWay);
    stalled.set(load.stalled);
    limit.set(load.limit);
  };
}
