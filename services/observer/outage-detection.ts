/**
 * Finds outages: times in which no node could be heard (domain/paused-time/outages.ts). While the observer runs, it
 * receives every heartbeat itself. At a start, and when its own watch was broken, the evidence is what others left:
 *
 *   the Lease vigil-heartbeats   until when a process of Vigil has heard nodes; an observer that continues another one
 *                                knows it from that one's pulses
 *   stamps                       the last renewTime of each lease, of nodes and of components of the control plane, and
 *                                the last status of each node
 *   the history of the leases    the renewals that the API server has kept, about the last minute
 *
 * If the evidence is not clear, it was an outage. Until the evidence is read, the outage counts as one that lasts.
 */
import { Annotation, HEARTBEATS_LEASE } from "../../protocols/names.ts";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import type { Io, KubeObject, ReadReply, Timer } from "../../protocols/ports.ts";
import { apiTime, epochMsOf } from "../domain/api-time.ts";
import { outageMinMs, UNKNOWN_START_AT } from "../domain/paused-time/outages.ts";
import { recordOf, textOf } from "../structures/json.ts";
import { isOlderVersion } from "../structures/resource-version.ts";
import {
  acceptedAt,
  endsGap,
  type Gap,
  type HeardAt,
  knownOutages,
  lastHeardAt,
  type OutageRules,
  orderedStamps,
  outagesIn,
  pastStamps,
  type Stamp,
} from "./outage-detection.policy.ts";

/** The name under which the renewed leases of control-plane components count. No node has an empty name. */
const COMPONENT = "";
/** How long heartbeats are collected after a gap, in milliseconds: a list brings them in any order. */
const COLLECT_MS = 1_000;

/** Until when nodes were heard, and by which version of the leases; instants of the API server's clock. */
export interface Heard {
  readonly at: number;
  readonly leasesVersion: string | null;
}

/** What is taken over from the observer before. */
export interface HeardBefore {
  readonly heard: Heard;
  readonly outages: readonly FrozenInterval[];
}

/** What the observer knows. */
export interface HeardCluster {
  /** Whether nodes and leases are synced. */
  isSynced(): boolean;
  /** The version of the leases that the watch has shown. */
  leasesVersion(): string | null;
  /** The stamps of the last heartbeats of all nodes. */
  stamps(): Iterable<Stamp>;
  /** Since when a countdown may run that outages pause; null for none. */
  countingSinceAt(): number | null;
  /** Called when the outages have changed. */
  changed(): void;
  /** Called when the API server's store went back to an older version. */
  restored(): void;
}

/** The outages that one observer knows of. */
export class OutageDetection {
  readonly #io: Pick<Io, "clock" | "kube" | "log">;
  readonly #cluster: HeardCluster;
  readonly #minMs: number;
  /** The longest time that a node may have to be heard. */
  readonly #graceMs: number;
  #outages: readonly FrozenInterval[];
  #heardAt: number;
  /** The same on the monotonic clock, which no step of the other one moves. */
  #heardMs = Number.NEGATIVE_INFINITY;
  /** The version of the leases at the last review before a gap. */
  #version: string | null;
  /** The same at the last review, also in a gap: there a restored store grows beyond the version before the gap. */
  #shownVersion: string | null;
  /** What has been heard since the last gap began; null while there is none. */
  #gap: Gap | null = null;
  /** Whether it is known until when nodes were heard. */
  #hasBegun: boolean;
  /** Runs while heartbeats are collected. */
  #timer: Timer | null = null;
  #isReading = false;
  #isStopped = false;

  constructor(io: Pick<Io, "clock" | "kube" | "log" | "profile">, cluster: HeardCluster, before: HeardBefore | null) {
    this.#io = io;
    this.#cluster = cluster;
    this.#minMs = outageMinMs(io.profile);
    this.#graceMs = Math.max(io.profile.nodeMonitorGraceMs, io.profile.nodeStartupGraceMs);
    this.#outages = before?.outages ?? [];
    this.#heardAt = before?.heard.at ?? UNKNOWN_START_AT;
    this.#version = before?.heard.leasesVersion ?? null;
    this.#shownVersion = this.#version;
    this.#hasBegun = before !== null;
  }

  /** The outages found, in order; one that lasts, or may, has no end. */
  get outages(): readonly FrozenInterval[] {
    const isOpen = this.#hasBegun ? this.#gap !== null : this.#cluster.countingSinceAt() !== null;
    return isOpen ? knownOutages(this.#outages, [{ fromAt: this.#heardAt, toAt: null }]) : this.#outages;
  }

  /** Until when nodes were heard; null before that is known. */
  get heard(): Heard | null {
    return this.#hasBegun ? { at: this.#heardAt, leasesVersion: this.#version } : null;
  }

  /**
   * Records a heartbeat with its stamp. It was seen to arrive or, as the first one of its node, found. A list finds
   * heartbeats too: after a restored backup it shows older stamps than before.
   */
  onStamp({ by, at: stampAt }: Stamp, isFirst: boolean): void {
    if (!this.#hasBegun) return;
    const isFound = isFirst || !this.#cluster.isSynced();
    const nowAt = this.#io.clock.wallMs();
    this.#openGap(nowAt);
    if (this.#gap !== null) {
      if (isFound) this.#collect(pastStamps([{ by, at: stampAt }], nowAt));
      else this.#collect([{ by, at: acceptedAt(stampAt, this.#gap.fromAt, nowAt), arrivedAt: nowAt }]);
    } else if (!isFound) this.#hear(nowAt);
    else for (const { at } of pastStamps([{ by, at: stampAt }], nowAt)) if (at > this.#heardAt) this.#hear(at);
  }

  /** Detects that no heartbeat was received for too long; called with every pulse. */
  review(): void {
    this.#beginAgainIfRestored();
    if (!this.#hasBegun) {
      if (this.#cluster.isSynced()) this.#begin();
      return;
    }
    this.#openGap(this.#io.clock.wallMs());
    // An observer that continues another one has not listed the leases yet.
    if (this.#gap === null) this.#version = this.#cluster.leasesVersion() ?? this.#version;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /**
   * After a backup of the store was restored, the evidence counts as at a start: nodes may not have been heard since
   * the backup was made, whatever this process has heard.
   */
  #beginAgainIfRestored(): void {
    const [version, shown] = [this.#cluster.leasesVersion(), this.#shownVersion];
    if (version === null) return;
    this.#shownVersion = version;
    if (shown === null || !isOlderVersion(version, shown)) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#gap = null;
    this.#heardAt = UNKNOWN_START_AT;
    this.#heardMs = Number.NEGATIVE_INFINITY;
    this.#version = null;
    this.#hasBegun = false;
    this.#cluster.restored();
  }

  /** Reads the evidence of a start. */
  #begin(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#io.kube.read({ kind: "Lease", ...HEARTBEATS_LEASE }, (reply) => {
      if (this.#isStopped) return;
      this.#io.kube.componentLeases((renewTimes) => {
        this.#isReading = false;
        if (!this.#isStopped) this.#onRecord(reply, renewTimes ?? []);
      });
    });
  }

  /** After a failed read the next review reads again. */
  #onRecord(reply: ReadReply, componentsRenewedAt: readonly number[]): void {
    if (reply.outcome === "failed" || reply.outcome === "throttled") return;
    const nowAt = this.#io.clock.wallMs();
    const record = reply.outcome === "ok" ? heardIn(reply.object) : null;
    if (this.#cluster.countingSinceAt() === null && record === null) {
      // This may be the first start ever, and an outage has paused no countdown. One that lasts may still pause some.
      this.#hasBegun = true;
      this.#hear(lastHeardAt(pastStamps(this.#cluster.stamps(), nowAt)) ?? nowAt);
      this.#openGap(nowAt);
      return;
    }
    if (record !== null && record.at <= nowAt && this.#matchesStore(record)) {
      this.#heardAt = record.at;
      this.#version = record.leasesVersion;
    }
    this.#hasBegun = true;
    this.#gap = { fromAt: this.#heardAt, fromVersion: this.#version, heard: [] };
    const components = componentsRenewedAt.map((at) => ({ by: COMPONENT, at }));
    this.#collect(pastStamps([...this.#cluster.stamps(), ...components], nowAt));
    this.#conclude();
  }

  /**
   * Whether the store is the one that a record is about. Its writer may have renewed it after a backup was restored,
   * with heartbeats from before: a version in the future shows that.
   */
  #matchesStore({ leasesVersion }: Heard): boolean {
    const present = this.#cluster.leasesVersion();
    return leasesVersion === null || present === null || !isOlderVersion(present, leasesVersion);
  }

  #hear(at: number): void {
    const { clock } = this.#io;
    this.#heardMs = clock.monotonicMs() - (clock.wallMs() - at);
    this.#heardAt = at;
  }

  #openGap(nowAt: number): void {
    if (this.#gap !== null) return;
    // The clock may have been set.
    this.#heardAt = Math.min(this.#heardAt, nowAt);
    const silentMs = Math.min(nowAt - this.#heardAt, this.#io.clock.monotonicMs() - this.#heardMs);
    if (silentMs <= this.#minMs) return;
    this.#gap = { fromAt: this.#heardAt, fromVersion: this.#version, heard: [] };
    this.#cluster.changed();
  }

  #collect(heartbeats: Iterable<HeardAt>): void {
    if (this.#gap === null) return;
    const { fromAt, heard } = this.#gap;
    for (const heartbeat of heartbeats) if (heartbeat.at > fromAt) heard.push(heartbeat);
    if (heard.length > 0) this.#concludeLater();
  }

  #concludeLater(): void {
    this.#timer ??= this.#io.clock.after(COLLECT_MS, () => {
      this.#timer = null;
      this.#conclude();
    });
  }

  /** Ends a gap in which something was heard. If it shows an outage, the history of the leases may show more. */
  #conclude(): void {
    if (this.#gap === null || this.#isReading) return;
    const { fromAt, fromVersion } = this.#gap;
    const isShort = this.#io.clock.wallMs() - fromAt <= this.#minMs;
    if (!isShort && !endsGap(this.#gap, this.#rules())) return;
    if (!this.#cluster.isSynced()) {
      this.#concludeLater();
      return;
    }
    if (isShort || fromVersion === null || !this.#mayBeOutage(this.#gap)) {
      this.#close();
      return;
    }
    this.#isReading = true;
    this.#io.kube.leaseHistory(fromVersion, (renewals) => {
      this.#isReading = false;
      if (this.#isStopped) return;
      this.#collect(orderedStamps(renewals ?? [], this.#io.clock.wallMs()));
      this.#close();
    });
  }

  #rules(): OutageRules {
    const stamped = new Set<string>();
    for (const { by, at } of this.#cluster.stamps()) if (at !== null) stamped.add(by);
    return { minMs: this.#minMs, nodes: stamped.size };
  }

  #mayBeOutage(gap: Gap): boolean {
    const { outages, heardAt } = outagesIn(gap, this.#rules());
    return outages.length > 0 || this.#io.clock.wallMs() - (heardAt ?? gap.fromAt) > this.#minMs;
  }

  #close(): void {
    if (this.#gap === null) return;
    const { outages, heardAt } = outagesIn(this.#gap, this.#rules());
    const countingSinceAt = this.#cluster.countingSinceAt() ?? Number.POSITIVE_INFINITY;
    // An outage that paused no countdown is needed for a grace only: a verdict soon after it may begin one.
    const fromAt = Math.min(countingSinceAt, this.#io.clock.wallMs() - this.#graceMs);
    const counted = outages.filter(({ toAt }) => (toAt ?? 0) > fromAt);
    this.#timer?.cancel();
    this.#timer = null;
    this.#gap = null;
    if (heardAt !== null) this.#hear(heardAt);
    this.#outages = knownOutages(this.#outages, counted);
    for (const { fromAt, toAt } of counted) {
      const fields = { from: fromAt === UNKNOWN_START_AT ? "unknown" : apiTime(fromAt), to: apiTime(toAt ?? 0) };
      this.#io.log.warn("no node could be heard: what the silence of a node causes waits for as long", fields);
    }
    // The evidence of a start may end long ago. Then nothing has been heard since, and a pulse without an outage would
    // resume every countdown.
    this.#openGap(this.#io.clock.wallMs());
    if (this.#gap === null) this.#cluster.changed();
  }
}

/** What the Lease records; null when it is malformed. */
function heardIn({ metadata, spec }: KubeObject): Heard | null {
  const at = epochMsOf(textOf(recordOf(spec).renewTime));
  const annotations = recordOf(recordOf(metadata).annotations);
  return at === null ? null : { at: Math.floor(at), leasesVersion: textOf(annotations[Annotation.leasesVersion]) };
}
