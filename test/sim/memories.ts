/**
 * What Vigil remembers over a restart, and by which requests: each memory as it is written and read at the API server.
 * `restartTwice` kills processes at the two moments at which a memory may be lost: as it is written, before the first act
 * that rests on it, and while the next process reads it. It knows nothing of what a memory says.
 */
import { Annotation, FREEZE_CONFIG_MAP, LIMITS_LEASE } from "../../protocols/names.ts";
import type { Random, Stop, Timer } from "../../protocols/ports.ts";
import type { Call } from "../../services/sandbox/apiserver/routes.ts";
import { between, oneOf } from "./chance.ts";
import type { Reach } from "./meddler.ts";
import { atRequest, type RequestFate } from "./moments.ts";
import type { SimulatedProcess } from "./process.ts";

/** How one memory is written and read. */
interface MemoryRequests {
  readonly isWritten: (call: Call) => boolean;
  readonly isRead: (call: Call) => boolean;
  /** How many of its writes may pass before. */
  readonly writesMax: number;
  /** Set where a process hands it over as it ends. */
  readonly isHandedOver?: true;
}

const readsConfigMaps = ({ verb, resource }: Call): boolean => isRead(verb) && resource.plural === "configmaps";
const listsNodes = ({ verb, resource }: Call): boolean => verb === "list" && resource.plural === "nodes";

/** The memories by name. */
const MEMORIES = {
  breaker: { isWritten: (call) => writesMap(call, /"limits":/), isRead: readsConfigMaps, writesMax: 3 },
  storm: {
    isWritten: (call) => writesMap(call, /trippedAt\\":\d|stormEndedAt\\":\d|isStorm\\":true/),
    isRead: readsConfigMaps,
    writesMax: 2,
  },
  freezes: { isWritten: (call) => writesMap(call, /"frozen":"\{\\"/), isRead: readsConfigMaps, writesMax: 3 },
  outages: { isWritten: (call) => writesMap(call, /"outages":"\[\{/), isRead: readsConfigMaps, writesMax: 1 },
  rates: {
    isWritten: ({ verb, name }) => !isRead(verb) && name === LIMITS_LEASE.name,
    isRead: ({ verb, name }) => isRead(verb) && name === LIMITS_LEASE.name,
    writesMax: 12,
    isHandedOver: true,
  },
  flapping: { isWritten: (call) => patchesNode(call, "ready-transitions"), isRead: listsNodes, writesMax: 4 },
  holds: { isWritten: (call) => patchesNode(call, Annotation.holds), isRead: listsNodes, writesMax: 4 },
  records: { isWritten: (call) => patchesNode(call, "taints-seen"), isRead: listsNodes, writesMax: 3 },
} satisfies Record<string, MemoryRequests>;

/** The name of a memory. */
export type MemoryName = keyof typeof MEMORIES;

/** How long processes are dead, in milliseconds. */
const DEAD_MS = [300, 4_000] as const;
/** The share of writes that kill every process: then only the API server has the memory. */
const ALL_SHARE = 0.6;
/** How a request ends at which a process dies, and how long after it: at last when it has acted on the reply. */
const DEATHS: readonly (readonly [fate: RequestFate, afterMs: number])[] = [
  ["lostRequest", 0],
  ["lostReply", 0],
  ["lostReply", 0],
  ["carriedOut", 30],
  ["carriedOut", 1_200],
  ["carriedOut", 15_000],
];
/** In how many cases processes end as a rollout ends them: what they hand over is read by the next ones. */
const ROLLOUT_SHARE = 0.5;
/** How long the read of a memory is waited for after a start, in milliseconds. */
const READ_WITHIN_MS = 20_000;

/**
 * Waits for a write of a memory, kills its sender or all processes, starts them again, and kills the process that reads
 * the memory first. The returned function ends it and starts what is dead.
 */
export function restartTwice(reach: Reach, random: Random, memory: MemoryName): Stop {
  const { isWritten, isRead: isReadOf, writesMax, isHandedOver }: MemoryRequests = MEMORIES[memory];
  const timers = new Set<Timer>();
  const { clock } = reach.world;
  let disarm: Stop = () => {};
  const after = (ms: number, act: () => void): void => {
    timers.add(clock.after(ms, () => reach.world.asWorld(act)));
  };
  const killAt = (dying: readonly SimulatedProcess[], what: string, next: () => void): RequestFate => {
    reach.count(`memory of ${memory}: killed at its ${what}`);
    reach.struck(`killed at the ${what} of the memory of ${memory}`);
    const [fate, afterMs] = oneOf(random, DEATHS);
    const isRollout = isHandedOver === true && random() < ROLLOUT_SHARE;
    const startAgain = (): void => {
      if (dying.some(({ running }) => running)) return;
      after(between(random, ...DEAD_MS), () => {
        for (const process of dying) process.start();
        next();
      });
    };
    after(afterMs, () => {
      if (isRollout) reach.count(`memory of ${memory}: handed over`);
      for (const process of dying) {
        if (isRollout) process.end(startAgain);
        else process.kill();
      }
      if (!isRollout) startAgain();
    });
    return fate;
  };
  const isAll = random() < ALL_SHARE;
  const reading = (): void => {
    disarm = atRequest(reach, { name: memory, isIt: isReadOf }, 1, (reader) => killAt([reader], "read", () => {}));
    after(READ_WITHIN_MS, () => disarm());
  };
  disarm = atRequest(reach, { name: memory, isIt: isWritten }, between(random, 1, writesMax), (writer) => {
    return killAt(isAll ? reach.processes : [writer], "write", reading);
  });
  return () => {
    disarm();
    for (const timer of timers) timer.cancel();
    for (const process of reach.processes) process.start();
  };
}

function isRead(verb: string): boolean {
  return ["get", "list", "watch"].includes(verb);
}

function writesMap({ verb, name, resource, body }: Call, text: RegExp): boolean {
  const isMap = resource.plural === "configmaps" && (name === FREEZE_CONFIG_MAP.name || verb === "create");
  return isMap && !isRead(verb) && text.test(body ?? "");
}

function patchesNode({ verb, resource, body }: Call, text: string): boolean {
  return verb === "patch" && resource.plural === "nodes" && body?.includes(text) === true;
}
