/**
 * Watches for upstream's controllers and for the renewals of kubelets. When either does not suit the settings of this
 * process, it reports that in the log, on each change, and in `/readyz?verbose`. An edge: it may await.
 */
import { LEASE_NAMESPACE } from "../../../protocols/names.ts";
import type { ObservedNode } from "../../../protocols/objects.ts";
import type { Bus, Io, Metrics, ServiceName, Stop, Wire } from "../../../protocols/ports.ts";
import type { Profile } from "../../../protocols/profile.ts";
import type { Check } from "../../console/readiness.policy.ts";
import { listPage } from "../../platform/kube/transport/list-page.ts";
import { collectionPath } from "../../platform/kube/transport/paths.ts";
import { type GraceSettings, graceProblem, RenewalPeriod } from "./grace.policy.ts";
import {
  eventSourcesOf,
  isUnanswered,
  newerSign,
  signInChange,
  signInEvents,
  signInNodes,
  type UpstreamFinding,
  type UpstreamSign,
  upstreamCheck,
  upstreamFinding,
} from "./upstream.policy.ts";

/** How often Events and nodes are listed, and renewals sampled. An API server reads all Events to select some. */
const LIST_PERIOD_MS = 1_800_000;
/** How often what is known is reviewed, in milliseconds. */
const REVIEW_PERIOD_MS = 5_000;

/** The ports and settings of the watch. */
export interface UpstreamWatchIo extends Pick<Io, "clock" | "log" | "metrics"> {
  readonly wire: Wire;
  readonly profile: GraceSettings & Pick<Profile, "upstream">;
  readonly services: readonly ServiceName[];
  readonly shadow: boolean;
}

/** Follows upstream and the kubelets for as long as a process runs. */
export class UpstreamWatch {
  readonly #io: UpstreamWatchIo;
  readonly #period = new RenewalPeriod();
  /** The nodes whose taint is missing, as last observed, and since when. */
  readonly #unanswered = new Map<string, { readonly node: ObservedNode; readonly sinceMs: number }>();
  #sign: UpstreamSign | null = null;
  #unreadable: string | null = null;
  #isListed = false;
  #startedAt = 0;
  #loggedKind: UpstreamFinding["kind"] = "none";
  #loggedGrace: string | null = null;
  readonly #stops: Stop[] = [];
  #stopSampling: Stop = () => {};

  readonly #mismatch: ReturnType<Metrics["gauge"]>;

  constructor(io: UpstreamWatchIo) {
    this.#io = io;
    const help =
      "1 while upstream's controllers run where Vigil replaces them, or set no taint where Vigil relies on them.";
    this.#mismatch = io.metrics.gauge({ name: "vigil_upstream_mismatch", help });
    this.#mismatch.set(0);
  }

  /** Reads the durations of the cluster's leases; returns why the grace period is too short for them, null if not. */
  async graceProblem(): Promise<string | null> {
    const { items } = await listPage(this.#io, { path: collectionPath("Lease", LEASE_NAMESPACE) });
    this.#period.onLeases(items ?? []);
    return graceProblem(this.#io.profile, this.#period.ms);
  }

  /** Follows the messages of a bus and the API until `stop`. */
  start(bus: Bus): void {
    this.#startedAt = this.#io.clock.wallMs();
    // Only a process that judges nodes may subscribe to what it judges by.
    if (this.#io.services.includes("node")) {
      this.#sampleRenewals(bus);
      this.#repeat(LIST_PERIOD_MS, () => this.#sampleRenewals(bus));
      if (this.#io.profile.upstream === "beside") this.#followNodes(bus);
    }
    void this.#list();
    this.#repeat(LIST_PERIOD_MS, () => void this.#list());
    this.#repeat(REVIEW_PERIOD_MS, () => this.#review());
  }

  stop(): void {
    this.#stopSampling();
    for (const stop of this.#stops.splice(0)) stop();
  }

  /** The lines of `/readyz?verbose`. */
  checks(): readonly Check[] {
    const grace = graceProblem(this.#io.profile, this.#period.ms);
    return [
      upstreamCheck(this.#finding()),
      { name: "grace", problem: null, ...(grace === null ? {} : { note: grace }) },
    ];
  }

  async #list(): Promise<void> {
    const { profile, services } = this.#io;
    const sources = eventSourcesOf(this.#stance);
    const path = collectionPath("Event", "");
    const pages = await Promise.all(
      sources.map((source) => listPage(this.#io, { path, fieldSelector: `source=${source}` })),
    );
    this.#unreadable = pages.find((page) => page.items === null)?.detail ?? null;
    const wallMs = this.#io.clock.wallMs();
    for (const { items } of pages) this.#sign = newerSign(this.#sign, signInEvents(items ?? [], wallMs));
    if (profile.upstream === "beside" || services.includes("node")) {
      const nodes = await listPage(this.#io, { path: collectionPath("Node", ""), isMetadataOnly: true });
      this.#sign = newerSign(this.#sign, signInNodes(nodes.items ?? [], wallMs));
    }
    this.#isListed = true;
    this.#review();
  }

  /** Follows heartbeats until there are enough: those of a large cluster come by the hundred each second. */
  #sampleRenewals(bus: Bus): void {
    if (!this.#period.isSampled) return;
    this.#period.beginSample();
    this.#stopSampling = bus.subscribe("observed.lease", "all", ({ body }) => {
      for (const heartbeat of body.heartbeats) this.#period.onHeartbeat(heartbeat);
      if (this.#period.isSampled) this.#stopSampling();
    });
  }

  #followNodes(bus: Bus): void {
    this.#stops.push(
      bus.subscribe("observed.node", "all", ({ body }) => this.#observe(body)),
      bus.subscribe("observed.gone", "all", ({ body }) => this.#unanswered.delete(body.node)),
    );
  }

  #observe(node: ObservedNode): void {
    const { clock } = this.#io;
    const before = this.#unanswered.get(node.node);
    if (before !== undefined) this.#sign = newerSign(this.#sign, signInChange(before.node, node, clock.wallMs()));
    if (isUnanswered(node)) this.#unanswered.set(node.node, { node, sinceMs: before?.sinceMs ?? clock.monotonicMs() });
    else this.#unanswered.delete(node.node);
  }

  get #stance() {
    const { profile, services, shadow } = this.#io;
    return { upstream: profile.upstream, services, shadow };
  }

  #finding(): UpstreamFinding {
    const { clock } = this.#io;
    const [first] = this.#unanswered.values();
    const unanswered = first === undefined ? null : { node: first.node.node, sinceMs: first.sinceMs };
    const known = { sign: this.#sign, unanswered, unreadable: this.#unreadable, startedAt: this.#startedAt };
    return upstreamFinding(this.#stance, { ...known, wallMs: clock.wallMs(), nowMs: clock.monotonicMs() });
  }

  /** Logs what has changed. */
  #review(): void {
    const { log, profile } = this.#io;
    const { kind, text, isWarning } = this.#finding();
    this.#mismatch.set(kind === "both" || kind === "nobody" ? 1 : 0);
    if (this.#isListed && kind !== this.#loggedKind) {
      this.#loggedKind = kind;
      if (text !== "") log[isWarning ? "warn" : "info"](text);
    }
    const grace = graceProblem(profile, this.#period.ms);
    if (grace !== null && grace !== this.#loggedGrace) log.warn(grace);
    this.#loggedGrace = grace;
  }

  #repeat(periodMs: number, run: () => void): void {
    const next = () => {
      run();
      timer = this.#io.clock.after(periodMs, next);
    };
    let timer = this.#io.clock.after(periodMs, next);
    this.#stops.push(() => timer.cancel());
  }
}
