/**
 * Keeps the memory of freezes: follows the ConfigMap kube-system/vigil-freeze, works out with freezes.policy.ts what
 * is and was frozen, and writes it there. A freeze holds before it is written; the memory only has to outlive this
 * process.
 */
import { FREEZE_CONFIG_MAP } from "../../protocols/names.ts";
import type { FrozenInterval } from "../../protocols/policy-set.ts";
import {
  type FreezeResource,
  type Io,
  type Timer,
  Urgency,
  type Watch,
  type WriteReply,
} from "../../protocols/ports.ts";
import {
  bothMemories,
  type FreezeMemory,
  type FreezeSources,
  type FreezingPolicy,
  freezeMemory,
  freezeSources,
  frozenTime,
  lastingSources,
  memoryText,
  type RecordedPauseRequest,
  readMemory,
  readPauseRequests,
  readSources,
} from "./freezes.policy.ts";

/** How long a failed write of the memory waits for the next, in milliseconds. */
const RETRY_MS = 2_000;
/** The watch shows a text soon after it was written. */
const OWN_TEXTS_MAX = 8;

/** The freezes of one active policy service. */
export class Freezes {
  readonly #io: Pick<Io, "kube" | "clock" | "log" | "profile">;
  readonly #watch: Watch<FreezeResource>;
  #resource: FreezeResource | null = null;
  #requests: readonly RecordedPauseRequest[] = [];
  #problems = "";
  #memory: FreezeMemory = new Map();
  #sourcesBefore: FreezeSources = new Map();
  #isKnown = false;
  #isUpdated = false;
  #isStopped = false;
  /** Whether a write is under way or waits for its retry. */
  #isWriting = false;
  #retry: Timer | null = null;
  /** The memory that was written last, until the watch shows it. */
  #written: string | null = null;
  /** The last texts that this process wrote: another one is what another process remembers. */
  readonly #own: string[] = [];

  /** `changed` is called when the ConfigMap is known for the first time, and whenever it changes. */
  constructor(io: Pick<Io, "kube" | "clock" | "log" | "profile">, changed: () => void) {
    this.#io = io;
    this.#watch = io.kube.watch("freezes", {
      changed: (resource) => {
        this.#take(resource);
        if (this.#isKnown) changed();
      },
      gone: () => {
        this.#take(null);
        if (this.#isKnown) changed();
      },
      state: ({ synced }) => {
        if (synced) this.#known(changed);
      },
      absent: () => this.#known(changed),
    });
  }

  /** Whether the ConfigMap was read, or found missing. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** The memory of limits that the ConfigMap has too (limit-memory.ts); null for none. */
  get limitsText(): string | null {
    return this.#resource?.limits ?? null;
  }

  /** Reads the ConfigMap again; until then it is not known. */
  readAgain(reason: string): void {
    this.#isKnown = false;
    this.#watch.relist(reason);
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch.stop();
    this.#retry?.cancel();
  }

  /** Takes the policies in force, and brings the memory up to date. */
  update(policies: readonly FreezingPolicy[]): void {
    if (!this.#isKnown) return;
    const sources = freezeSources(policies, this.#requests);
    const nowAt = this.#io.clock.wallMs();
    this.#memory = freezeMemory(this.#memory, { sourcesBefore: this.#sourcesBefore, sources }, nowAt);
    this.#sourcesBefore = lastingSources(sources, nowAt);
    this.#isUpdated = true;
    this.#write();
  }

  /** When the nodes of a policy, or all nodes, were and are frozen. */
  frozen(scope: string): readonly FrozenInterval[] {
    return frozenTime(this.#memory, scope, this.#io.clock.wallMs());
  }

  /** The requests of the ConfigMap for the nodes of a policy, or for all. */
  requests(scope: string): RecordedPauseRequest["request"][] {
    return this.#requests.filter((each) => each.scope === scope).map(({ request }) => request);
  }

  #known(changed: () => void): void {
    if (this.#isKnown) return;
    this.#isKnown = true;
    changed();
  }

  #take(resource: FreezeResource | null): void {
    const { requests, problems } = readPauseRequests(resource?.pauseRequests ?? null);
    this.#requests = requests;
    if (problems.join() !== this.#problems) {
      for (const problem of problems) this.#io.log.warn(`ConfigMap ${FREEZE_CONFIG_MAP.name}: ${problem}`);
    }
    this.#problems = problems.join();
    const text = resource?.frozen ?? null;
    // What was taken once may have been corrected since: a planned end by a thaw.
    const isNews = text !== null && text !== this.#resource?.frozen && !this.#own.includes(text);
    if (isNews) this.#memory = bothMemories(this.#memory, readMemory(text));
    // What the process before has seen may have ended while none ran.
    if (!this.#isUpdated) this.#sourcesBefore = readSources(text);
    this.#resource = resource;
    if (resource?.frozen === this.#written) this.#written = null;
  }

  #write(): void {
    // Beside upstream Vigil evicts nobody, so no countdown needs the memory.
    if (this.#io.profile.upstream === "beside") return;
    const text = memoryText(this.#memory, this.#sourcesBefore);
    const stored = this.#written ?? this.#resource?.frozen ?? null;
    if (this.#isWriting || stored === text || (this.#memory.size === 0 && stored === null)) return;
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
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data: { frozen: text } };
      this.#io.kube.write({ ...target, verb: "create", body }, done);
    } else {
      const { resourceVersion } = this.#resource;
      const body = { metadata: { resourceVersion }, data: { frozen: text } };
      this.#io.kube.write({ ...target, verb: "patch", patch: "merge", body }, done);
    }
  }

  #settle(reply: WriteReply): void {
    const isDone = reply.outcome === "ok" || reply.outcome === "shadowed";
    if (!isDone) {
      this.#written = null;
      this.#io.log.debug("the memory of freezes was not written", { outcome: reply.outcome, detail: reply.detail });
    }
    this.#retry = this.#io.clock.after(isDone ? 0 : RETRY_MS, () => {
      this.#isWriting = false;
      this.#write();
    });
  }
}
