/**
 * Remembers outages (domain/paused-time/outages.ts), because countdowns need them for as long as a taint is older than
 * one. The memory is the ConfigMap kube-system/vigil-freeze under `outages`; the Lease kube-system/vigil-heartbeats
 * says until when nothing is missing there.
 *
 *   observed.pulse ──▶ ConfigMap ──written──▶ judged.policies ──▶ the countdowns of all processes go on
 *                           └──────▶ Lease, every 10 s: a countdown that begins just before a crash needs it too
 *
 * Readers delay what an outage pauses until it is published from here, so it is written before anything harmful that
 * follows it. Where it cannot be written, each countdown counts again from the end of the outage: its successor would
 * not know of it, and acts no earlier this way. Example: an outage ends at 12:10, and a pod has waited 100 s of its 300
 * s. If the outage is written, the pod leaves 200 s after it; if it cannot be written, 300 s after it.
 */

import { FROZEN_INTERVALS_MAX } from "../../protocols/judged.ts";
import type { BodyOf } from "../../protocols/messages.ts";
import { Annotation, FREEZE_CONFIG_MAP, HEARTBEATS_LEASE } from "../../protocols/names.ts";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import {
  type FreezeResource,
  type Io,
  type Stop,
  type Timer,
  Urgency,
  type WriteReply,
} from "../../protocols/ports.ts";
import { apiMicroTime } from "../domain/api-time.ts";
import { boundedIntervals } from "../domain/paused-time/frozen-time.ts";
import { isRemembered, outagesOver, UNKNOWN_START_AT } from "../domain/paused-time/outages.ts";
import type { ConfigMapBody, ConfigMapPatch, LeaseBody, LeasePatch } from "../platform/kube/write/sent-bodies.ts";
import type { MemoryHealth } from "../platform/process/memory-health.ts";
import { outagesText, readOutages } from "./outage-memory.policy.ts";

/** The pause after a failed write, in milliseconds. */
const RETRY_MS = 2_000;
/** The same after a denied one: a user has to grant the right first. */
const DENIED_MS = 60_000;
/** How often the Lease is renewed, in milliseconds, as kubelets renew theirs. */
const RENEW_MS = 10_000;
/** Names the process that renews the Lease. */
const HOLDER = "vigil";

type HeardBody = NonNullable<BodyOf<"observed.pulse">["heard"]>;

/** The outages that the active policy service remembers. */
export class OutageMemory {
  readonly #io: Pick<Io, "bus" | "kube" | "clock" | "log">;
  readonly #health: MemoryHealth;
  readonly #changed: () => void;
  readonly #stop: Stop;
  #outages: readonly FrozenInterval[] = [];
  /** What the observer has found, as of its last pulse. */
  #observed: readonly FrozenInterval[] = [];
  /** What is known to be stored. */
  #stored: readonly FrozenInterval[] = [];
  /** The ConfigMap as the watch shows it, once it has. */
  #resource: FreezeResource | null = null;
  #isShown = false;
  /** Whether its text has to be written again, because it cannot be read as it is. */
  #isUnreadable = false;
  /** Why the last write failed; null when it did not. */
  #problem: string | null = null;
  /** The text that was logged because it may not be written. */
  #named = "";
  #isWriting = false;
  #retry: Timer | null = null;
  #renewedMs = Number.NEGATIVE_INFINITY;
  #isLeaseMissing = false;
  #isStopped = false;

  /** `changed` is called when `remembered` has changed. */
  constructor(io: Pick<Io, "bus" | "kube" | "clock" | "log">, health: MemoryHealth, changed: () => void) {
    this.#io = io;
    this.#health = health;
    this.#changed = changed;
    this.#stop = io.bus.subscribe("observed.pulse", 0, ({ body: { outages = [], heard } }) => {
      this.#apply(outages, heard?.at ?? UNKNOWN_START_AT);
      if (heard !== undefined) this.#renew(heard);
    });
  }

  /**
   * The outages that readers may count with: those stored, and those that cannot be stored, from `UNKNOWN_START_AT` on.
   * Others are delayed until their write has been answered.
   */
  get remembered(): readonly FrozenInterval[] {
    if (this.#problem === null) return this.#stored;
    const unwritten = this.#outages
      .filter((outage) => !isRemembered(outage, this.#stored))
      .map(({ toAt }) => ({ fromAt: UNKNOWN_START_AT, toAt }));
    return boundedIntervals([...this.#stored, ...unwritten], FROZEN_INTERVALS_MAX);
  }

  /** The outages that the observer has found, those that last among them. */
  get observed(): readonly FrozenInterval[] {
    return this.#observed;
  }

  /** Applies what the watch shows of the ConfigMap; null where there is none. */
  shown(resource: FreezeResource | null): void {
    const text = resource?.outages ?? null;
    // A text that cannot be read may be about all time until it is first seen.
    if (!this.#isShown || text !== this.#resource?.outages) this.#read(text);
    this.#isShown = true;
    this.#resource = resource;
    this.#write();
  }

  #read(text: string | null): void {
    const stored = readOutages(text, this.#io.clock.wallMs());
    this.#isUnreadable = text !== null && text !== outagesText(stored);
    const isKnown = stored.every((outage) => isRemembered(outage, this.#outages));
    if (!isKnown) this.#outages = boundedIntervals([...this.#outages, ...stored], FROZEN_INTERVALS_MAX);
    if (outagesText(stored) !== outagesText(this.#stored) && !this.#isWriting) {
      this.#stored = stored;
      this.#changed();
      // Another client has written what this process may not write.
      if (outagesText(this.#outages) === outagesText(stored)) this.#health.report("outages", { outcome: "ok" });
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#stop();
  }

  #apply(outages: readonly FrozenInterval[], heardAt: number): void {
    this.#observed = outages;
    const news = outagesOver(outages, heardAt).filter((outage) => !isRemembered(outage, this.#outages));
    if (news.length === 0) return;
    this.#outages = boundedIntervals([...this.#outages, ...news], FROZEN_INTERVALS_MAX);
    this.#write();
  }

  #write(): void {
    const outages = this.#outages;
    const text = outagesText(outages);
    const isUnchanged = text === outagesText(this.#stored) && !this.#isUnreadable;
    if (!this.#isShown || this.#isWriting || this.#retry !== null || isUnchanged) return;
    this.#isWriting = true;
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const target = { ref: FREEZE_CONFIG_MAP, urgency: Urgency.healing } as const;
    const data = { outages: text };
    const done = (reply: WriteReply): void => {
      if (!this.#isStopped) this.#settle(reply, outages);
    };
    if (this.#resource === null) {
      const body: ConfigMapBody = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
      this.#io.kube.write({ ...target, verb: "create", body }, done);
    } else
      this.#io.kube.write({ ...target, verb: "patch", patch: "merge", body: { data } satisfies ConfigMapPatch }, done);
  }

  #settle(reply: WriteReply, outages: readonly FrozenInterval[]): void {
    this.#isWriting = false;
    const isDone = reply.outcome === "ok" || reply.outcome === "shadowed";
    if (isDone) {
      this.#stored = outages;
      this.#isUnreadable = false;
    }
    const problem = reply.outcome === "ok" || reply.outcome === "shadowed" ? null : reply.detail;
    this.#health.report("outages", reply);
    if (reply.outcome === "denied") this.#name(outagesText(outages));
    this.#problem = problem;
    this.#changed();
    if (isDone) this.#write();
    else {
      this.#retry = this.#io.clock.after(reply.outcome === "denied" ? DENIED_MS : RETRY_MS, () => {
        this.#retry = null;
        this.#write();
      });
    }
  }

  /** Logs once what a user can write instead, so that countdowns continue with their remaining time. */
  #name(text: string): void {
    if (text === this.#named) return;
    this.#named = text;
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const patch = JSON.stringify({ data: { outages: text } });
    const command = `kubectl patch configmap ${name} -n ${namespace} --type=merge -p '${patch}'`;
    this.#io.log.warn("the memory of outages may not be written; a user with the right can write it", { command });
  }

  /** Renews the Lease, unless an outage before that instant is not stored yet. */
  #renew({ at, leasesVersion }: HeardBody): void {
    const nowMs = this.#io.clock.monotonicMs();
    const isMissing = this.#outages.some((outage) => !isRemembered(outage, this.#stored));
    if (isMissing || nowMs - this.#renewedMs < RENEW_MS) return;
    this.#renewedMs = nowMs;
    const spec = { holderIdentity: HOLDER, renewTime: apiMicroTime(at) };
    const target = { ref: { kind: "Lease", ...HEARTBEATS_LEASE }, urgency: Urgency.status } as const;
    const done = (reply: WriteReply): void => {
      if (this.#isStopped) return;
      const { outcome } = reply;
      this.#health.report("outages", reply, HEARTBEATS_LEASE.name);
      // The next pulse creates a Lease that is missing, and changes one that is there.
      if (outcome !== "gone" && outcome !== "exists") return;
      this.#isLeaseMissing = outcome === "gone";
      this.#renewedMs = Number.NEGATIVE_INFINITY;
    };
    if (this.#isLeaseMissing) {
      const annotations = leasesVersion == null ? {} : { [Annotation.leasesVersion]: leasesVersion };
      const metadata = { ...HEARTBEATS_LEASE, annotations };
      this.#isLeaseMissing = false;
      const body: LeaseBody = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
      this.#io.kube.write({ ...target, verb: "create", body }, done);
    } else {
      const annotations = { [Annotation.leasesVersion]: leasesVersion ?? null };
      const body: LeasePatch = { metadata: { annotations }, spec };
      this.#io.kube.write({ ...target, verb: "patch", patch: "merge", body }, done);
    }
  }
}
