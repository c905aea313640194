/**
 * Keeps the memory of freezes: follows the ConfigMap kube-system/vigil-freeze, works out with freezes.policy.ts what is
 * and was frozen, and writes it there. A freeze applies before it is written; the memory only has to outlive this
 * process.
 *
 * A process that begins writes what it has read. If it may not, the process before may not have either, and the
 * ConfigMap has a hole of unknown size: `hasHole`. Then what a living predecessor has published counts, and after a
 * restart of all processes every node counts as frozen until now. Example: the right to write is missing since 09:00,
 * and all processes restart at 12:00. A freeze at 11:00 would have left no record, so a countdown that began at 10:00
 * counts from 12:00 again.
 */

import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import {
  type FreezeResource,
  type Io,
  type ReadReply,
  type Timer,
  Urgency,
  type Watch,
  type WriteReply,
} from "../../protocols/ports.ts";
import { UNKNOWN_START_AT } from "../domain/paused-time/outages.ts";
import type { ConfigMapBody, ConfigMapPatch } from "../platform/kube/write/sent-bodies.ts";
import type { MemoryHealth } from "../platform/process/memory-health.ts";
import { recordOf, textOf } from "../structures/json.ts";
import {
  bothMemories,
  EVERYWHERE,
  type FreezeMemory,
  type FreezeSources,
  type FreezingPolicy,
  freezeMemory,
  freezeSources,
  frozenTime,
  lastingSources,
  memoryText,
  publishedMemory,
  type RecordedPauseRequest,
  readMemory,
  readPauseRequests,
  readSources,
  unplacedRequests,
} from "./freezes.policy.ts";
import { LiveConfirmation } from "./live-confirmation.ts";
import { keepsAll } from "./loosening.policy.ts";

/** The pause after a failed write of the memory, in milliseconds. */
const RETRY_MS = 2_000;
/** The watch shows a text soon after it was written. */
const OWN_TEXTS_MAX = 8;

/** What one policy service does about freezes. */
interface FreezesContext {
  /** Called when the ConfigMap is known for the first time, and whenever what counts of it changes. */
  readonly changed: () => void;
  /** Called when a request is no longer in the ConfigMap; it counts until `confirmed` is called. */
  readonly loosened: (confirmed: () => void) => void;
}

type FreezesIo = Pick<Io, "kube" | "clock" | "log" | "profile" | "policies">;

/** The freezes of one active policy service. */
export class Freezes {
  readonly #io: FreezesIo;
  readonly #health: MemoryHealth;
  readonly #watch: Watch<FreezeResource>;
  #resource: FreezeResource | null = null;
  /** The requests that count: those of the ConfigMap, and those removed from it while no confirmation has come. */
  #requests: readonly RecordedPauseRequest[] = [];
  #shown: readonly RecordedPauseRequest[] = [];
  /** Those of policies that are not in force. */
  #unplaced: readonly RecordedPauseRequest[] = [];
  #problems = "";
  #memory: FreezeMemory = new Map();
  #sourcesBefore: FreezeSources = new Map();
  #isKnown = false;
  /** Whether what was read may lack a freeze; null until the ConfigMap was written, or found missing. */
  #hasHole: boolean | null = null;
  /** Whether the last write was denied: the text as it is stored is written again, to see when that ends. */
  #isUnproven = false;
  #isUpdated = false;
  #isStopped = false;
  /** Whether a write is under way or waits for its retry. */
  #isWriting = false;
  #retry: Timer | null = null;
  /** The memory that was written last, until the watch shows it. */
  #written: string | null = null;
  /** The last texts that this process wrote: another one is what another process remembers. */
  readonly #own: string[] = [];
  readonly #loosened: (confirmed: () => void) => void;
  readonly #changed: () => void;
  /** Confirms the ConfigMap for the other source. */
  readonly confirmation: LiveConfirmation;

  constructor(io: FreezesIo, health: MemoryHealth, { changed, loosened }: FreezesContext) {
    this.#io = io;
    this.#health = health;
    this.#changed = changed;
    this.#loosened = loosened;
    this.confirmation = new LiveConfirmation(io, {
      ref: FREEZE_CONFIG_MAP,
      isShown: (reply) => this.#isShown(reply),
      relist: (reason) => this.#watch.relist(reason),
    });
    this.#watch = io.kube.watch("freezes", {
      changed: (resource) => {
        this.#apply(resource);
        if (this.#isKnown) changed();
      },
      gone: () => {
        this.#apply(null);
        if (this.#isKnown) changed();
      },
      state: ({ synced }) => {
        if (synced) this.#read();
      },
      absent: () => this.#read(),
    });
  }

  /** Whether the ConfigMap was read, or found missing. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Whether the ConfigMap could not be written when this process began, so that it may lack what happened before. */
  get hasHole(): boolean {
    return this.#hasHole === true;
  }

  /** The ConfigMap as the watch shows it; null where there is none. It holds other memories too. */
  get resource(): FreezeResource | null {
    return this.#resource;
  }

  /** Reads the ConfigMap again; until then it is not known. */
  readAgain(reason: string): void {
    this.#isKnown = false;
    this.#watch.relist(reason);
  }

  stop(): void {
    this.#isStopped = true;
    this.confirmation.stop();
    this.#watch.stop();
    this.#retry?.cancel();
  }

  /** Applies the policies, and brings the memory up to date. */
  update(policies: readonly FreezingPolicy[]): void {
    if (!this.#isKnown) return;
    this.#unplaced = unplacedRequests(policies);
    const sources = freezeSources(policies, this.#requests);
    const nowAt = this.#io.clock.wallMs();
    if (!this.#isUpdated && this.#hasHole === true) this.#fillHole(nowAt);
    this.#memory = freezeMemory(
      this.#memory,
      { sourcesBefore: this.#sourcesBefore, sources },
      nowAt,
      this.#intervalsMax,
    );
    this.#sourcesBefore = lastingSources(sources, nowAt);
    this.#isUpdated = true;
    this.#write();
  }

  /** When the nodes of a policy, or all nodes, were and are frozen. */
  frozen(scope: string): readonly FrozenInterval[] {
    return frozenTime(this.#memory, scope, this.#io.clock.wallMs(), this.#intervalsMax);
  }

  get #intervalsMax(): number {
    return this.#io.profile.bounds.frozenIntervalsMax;
  }

  /** The requests for the nodes of a policy, or for all, that are not in the policy itself. */
  requests(scope: string): RecordedPauseRequest["request"][] {
    const requests = [...this.#requests, ...this.#unplaced];
    return requests.filter((each) => each.scope === scope).map(({ request }) => request);
  }

  #read(): void {
    if (this.#isKnown) return;
    if (this.#hasHole === null) this.#verify();
    else {
      this.#isKnown = true;
      this.#changed();
    }
  }

  /** Writes the ConfigMap as it was read. No ConfigMap means that nothing was ever frozen. */
  #verify(): void {
    const verified = (hasHole: boolean): void => {
      this.#isWriting = false;
      this.#hasHole = hasHole;
      this.#isUnproven = hasHole;
      this.#read();
    };
    if (this.#isWriting) return;
    if (this.#resource === null || this.#io.profile.upstream === "beside") {
      verified(false);
      return;
    }
    this.#isWriting = true;
    const { resourceVersion, frozen } = this.#resource;
    const body: ConfigMapPatch = { metadata: { resourceVersion }, data: { frozen } };
    const target = { ref: FREEZE_CONFIG_MAP, urgency: Urgency.status } as const;
    this.#io.kube.write({ ...target, verb: "patch", patch: "merge", body }, (reply) => {
      if (this.#isStopped) return;
      this.#health.report("freezes", reply);
      if (reply.outcome === "denied") verified(true);
      else if (!isUnanswered(reply)) verified(false);
      else {
        this.#retry = this.#io.clock.after(RETRY_MS, () => {
          this.#isWriting = false;
          this.#verify();
        });
      }
    });
  }

  /** What this process uses as the memory of a ConfigMap with a hole. */
  #fillHole(nowAt: number): void {
    const published = this.#io.policies.current();
    const filled: FreezeMemory =
      published === null
        ? new Map([[EVERYWHERE, [{ fromAt: UNKNOWN_START_AT, toAt: nowAt }]]])
        : publishedMemory(published);
    this.#memory = bothMemories(this.#memory, filled);
  }

  #apply(resource: FreezeResource | null): void {
    const { requests, problems } = readPauseRequests(resource?.pauseRequests ?? null);
    this.#show(requests);
    if (problems.join() !== this.#problems) {
      for (const problem of problems) this.#io.log.warn(`ConfigMap ${FREEZE_CONFIG_MAP.name}: ${problem}`);
    }
    this.#problems = problems.join();
    const text = resource?.frozen ?? null;
    // What was read before may have been corrected since: a planned end by a thaw.
    const isNews = text !== null && text !== this.#resource?.frozen && !this.#own.includes(text);
    if (isNews) this.#memory = bothMemories(this.#memory, readMemory(text));
    // What the previous process has seen may have ended while none ran.
    if (!this.#isUpdated) this.#sourcesBefore = readSources(text);
    this.#resource = resource;
    if (resource?.frozen === this.#written) this.#written = null;
  }

  /** Applies the requests of the ConfigMap. One that is gone counts until policies are known to be as new. */
  #show(shown: readonly RecordedPauseRequest[]): void {
    this.#shown = shown;
    const removed = this.#requests.filter((request) => !keepsAll([request], shown));
    if (!this.#isUpdated || removed.length === 0) {
      this.#requests = shown;
      return;
    }
    this.#requests = [...shown, ...removed];
    this.#loosened(() => {
      if (this.#isStopped || this.#shown !== shown) return;
      this.#requests = shown;
      if (this.#isKnown) this.#changed();
    });
  }

  /** Whether the watch shows the requests that a live read shows. */
  #isShown(reply: ReadReply): boolean {
    if (reply.outcome !== "ok") return reply.outcome === "gone" && this.#resource === null;
    const { pauseRequests } = recordOf(reply.object.data);
    return this.#resource !== null && textOf(pauseRequests) === this.#resource.pauseRequests;
  }

  #write(): void {
    // Beside upstream Vigil evicts no pod, so no countdown needs the memory.
    if (this.#io.profile.upstream === "beside") return;
    const text = memoryText(this.#memory, this.#sourcesBefore);
    const stored = this.#written ?? this.#resource?.frozen ?? null;
    const isStored = stored === text && !this.#isUnproven;
    if (this.#isWriting || isStored || (this.#memory.size === 0 && stored === null)) return;
    this.#isWriting = true;
    this.#written = text;
    this.#own.push(text);
    if (this.#own.length > OWN_TEXTS_MAX) this.#own.shift();
    const { namespace, name } = FREEZE_CONFIG_MAP;
    const target = { ref: FREEZE_CONFIG_MAP, urgency: Urgency.status } as const;
    const done = (reply: WriteReply): void => {
      if (!this.#isStopped) this.#settle(reply);
    };
    if (this.#resource === null) {
      const metadata = { namespace, name };
      const body: ConfigMapBody = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { frozen: text } };
      this.#io.kube.write({ ...target, verb: "create", body }, done);
    } else {
      const { resourceVersion } = this.#resource;
      const body: ConfigMapPatch = { metadata: { resourceVersion }, data: { frozen: text } };
      this.#io.kube.write({ ...target, verb: "patch", patch: "merge", body }, done);
    }
  }

  #settle(reply: WriteReply): void {
    const isDone = reply.outcome === "ok" || reply.outcome === "shadowed";
    if (isDone) this.#isUnproven = false;
    else this.#written = null;
    this.#health.report("freezes", reply);
    this.#retry = this.#io.clock.after(isDone ? 0 : RETRY_MS, () => {
      this.#isWriting = false;
      this.#write();
    });
  }
}

/** Whether a write may succeed when it is sent again, because the API server has not decided about it. */
function isUnanswered({ outcome }: WriteReply): boolean {
  return outcome === "failed" || outcome === "unknown" || outcome === "throttled";
}
