/** The message checks catch the breaches that they are for and let close cases pass. */
import { describe, expect, it } from "vitest";
import { EMPTY_DIGEST } from "../../protocols/digest.ts";
import type { BodyOf, MessageType } from "../../protocols/messages.ts";
import { STANDARD_PROFILE } from "../../protocols/profile.ts";
import { shardOf } from "../../protocols/subjects.ts";
import { encode, subjectFor } from "../../protocols/wire.ts";
import { Checks } from "./checks.ts";
import { MessageChecks } from "./message-checks.ts";
import { NodeHistory } from "./node-history.ts";
import { ProcessClock } from "./process-clock.ts";
import { drawSwarm, type FaultClass } from "./swarm.ts";
import { World } from "./world.ts";

const MEMBER = "p1";
const NODE = "a";
const { pulseTimeoutMs } = STANDARD_PROFILE;

/** A process with messages that are checked. */
class Stage {
  readonly world: World;
  readonly clock: ProcessClock;
  readonly #words: MessageChecks;
  readonly #history: NodeHistory;

  constructor(...faults: FaultClass[]) {
    const { plot: _, hindrance: __, ...drawn } = drawSwarm(1);
    const swarm = { ...drawn, plot: null, zones: [], faults: new Set(faults), profile: STANDARD_PROFILE };
    const world = new World(swarm);
    const clock = new ProcessClock(world.clock, { rate: 1, wallOffsetMs: 0 });
    const standing = {
      services: ["node"] as const,
      isFree: true,
      lastStop: null,
      lastPause: null,
      lastAbsence: null,
      lastDeathMs: Number.NEGATIVE_INFINITY,
      ledger: null,
      lastSilence: null,
      warnings: new Set<string>(),
    };
    const processes = () => [{ ...standing, name: MEMBER, ownMs: clock.monotonicMs() }];
    const checks = new Checks({ world, processes, isDrawn: true });
    const history = new NodeHistory(swarm, world.clock);
    this.world = world;
    this.clock = clock;
    this.#history = history;
    this.#words = new MessageChecks({ world, count: () => {}, history, checks });
  }

  /** Its node loses its taint, and then the faults end. */
  calm(): void {
    const taints = [{ key: "node.kubernetes.io/unreachable", effect: "NoExecute" }];
    const metadata = { name: NODE, uid: "1" };
    this.#history.note(NODE, { metadata, spec: { taints } }, { metadata, spec: {} });
    this.#words.calm();
  }

  hearPulse(): void {
    const watch = { synced: true, since: 0 };
    const watches = { nodes: watch, leases: watch, pods: watch };
    const body = { shard: shardOf(NODE), watches, nodes: EMPTY_DIGEST, pods: EMPTY_DIGEST, resyncs: 1 };
    this.#words.arrived(subjectFor("sim", "observed.pulse", body), bytesOf("observed.pulse", body), MEMBER);
  }

  evict(): void {
    const pod = { namespace: "default", name: "p", uid: "uid-p", node: NODE };
    const body = { ...pod, mode: "taint" as const, deadlineAt: 0, taint: null };
    this.#words.crossed(subjectFor("sim", "asked.eviction", body), bytesOf("asked.eviction", body), MEMBER);
  }
}

function bytesOf<T extends MessageType>(type: T, body: BodyOf<T>): Uint8Array {
  return encode({ type, id: `${MEMBER}:1:${type}.0:1`, source: MEMBER, at: 0, cause: null, body });
}

describe("a request to evict", () => {
  it("is caught when its process has received no pulse for too long", () => {
    const stage = new Stage();
    stage.hearPulse();
    expect(() => stage.evict()).not.toThrow();
    stage.world.clock.advance(2 * pulseTimeoutMs);
    expect(() => stage.evict()).toThrow("without a pulse");
  });

  it("passes if its process's clock was suspended for that time", () => {
    const stage = new Stage();
    stage.hearPulse();
    const resume = stage.clock.suspend();
    stage.world.clock.advance(2 * pulseTimeoutMs);
    resume();
    expect(() => stage.evict()).not.toThrow();
    stage.world.clock.advance(2 * pulseTimeoutMs);
    expect(() => stage.evict()).toThrow("without a pulse");
  });

  it("is caught without a taint, unless a watch may be silent", () => {
    const evictFromUntainted = (stage: Stage) => {
      stage.calm();
      stage.world.clock.advance(60_000);
      stage.hearPulse();
      stage.evict();
    };
    expect(() => evictFromUntainted(new Stage())).toThrow("has not been tainted");
    expect(() => evictFromUntainted(new Stage("silentWatches"))).not.toThrow();
  });
});
