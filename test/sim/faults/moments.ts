/**
 * Faults at decisive moments: between two steps of a handover, a permit, a grant, a freeze, a storm or a write. Each
 * act waits for the n-th message or request of some kind and strikes exactly there: a process dies before or after it,
 * one process alone misses it, its reply is lost, or it arrives after what its sender does next.
 */

import { FREEZE_CONFIG_MAP, HEARTBEATS_LEASE, LIMITS_LEASE } from "../../../protocols/names.ts";
import type { Random, Stop } from "../../../protocols/ports.ts";
import { between, oneOf } from "../chance.ts";
import { lasting, type Meddler, type Reach } from "../meddler.ts";
import {
  atMessage,
  atRequest,
  type MessageMoment,
  messageMoment,
  type RequestFate,
  type RequestMoment,
} from "../moments.ts";
import type { Interposition } from "../network.ts";
import type { SimulatedProcess } from "../process.ts";

/** The share of the acts that wait for a message; the others wait for a request. */
const MESSAGES_SHARE = 0.75;
/** The share of the acts that wait for what policies add, and for what the memory of outages does. */
const POLICIES_SHARE = 0.7;
const MEMORY_SHARE = 0.15;
/** How many messages of the kind may pass before, and how many requests. */
const NTH_MAX = 3;
/** How long a process that dies stays dead at most, in seconds. */
const DEAD_MAX_SECONDS = 8;
/** How long a message waits at most for what its sender does next, in milliseconds. */
const HELD_MAX_MS = 8_000;
/** How long after a message its reader dies, in milliseconds: at once, or when it has acted on it. */
const READ_MS: readonly number[] = [0, 1, 20, 200];

/** The messages of handovers, judgements, requests and outcomes, and those that change what may be done. */
const MESSAGES: readonly MessageMoment[] = [
  messageMoment("pulse of a member", "pulse.member"),
  messageMoment("request for a resync", "asked.resync"),
  messageMoment("node", "observed.node"),
  messageMoment("pods of a node", "observed.pods"),
  messageMoment("judgement of a node", "judged.node"),
  messageMoment("judgement of a pod", "judged.pod"),
  messageMoment("announcement of a zone", "judged.zone"),
  messageMoment("end of a halt", "judged.zone", (body, before) => before?.halted === true && !body.halted),
  messageMoment("request for conditions", "asked.condition"),
  messageMoment("request for a record", "asked.label"),
  messageMoment("request for a taint", "asked.taint"),
  messageMoment("grant", "asked.taint", ({ why }) => why === "granted"),
  messageMoment("grant of a drain", "asked.drain"),
  messageMoment("request for an eviction", "asked.eviction"),
  messageMoment("request for a mark", "asked.unready"),
  messageMoment("outcome", "done.write"),
];

/** Those of policies, and of the memory of outages. */
const POLICY_MESSAGES: readonly MessageMoment[] = [
  messageMoment("policies", "judged.policies"),
  messageMoment("freeze or thaw", "judged.policies", (body, before) => isChanged(body.frozen, before?.frozen)),
  messageMoment("freeze or thaw of a policy", "judged.policy", (body, before) =>
    isChanged(body.frozen, before?.frozen),
  ),
  messageMoment("end of an outage", "judged.policies", (body, before) => isChanged(body.outages, before?.outages)),
  messageMoment("permit", "judged.limits", ({ permits }) => permits.length > 0),
  messageMoment("limits", "judged.limits"),
  messageMoment("open breaker", "judged.limits", ({ memory }, before) =>
    isChanged(memory.trippedAt, before?.memory.trippedAt),
  ),
  messageMoment("end of a storm", "judged.limits", ({ memory }, before) =>
    isChanged(memory.stormEndedAt, before?.memory.stormEndedAt),
  ),
  messageMoment("memory of limits", "judged.memory"),
  messageMoment("Lease of limits", "judged.lease", ({ isHeld }, before) => isHeld !== (before?.isHeld ?? false)),
  messageMoment("permit of an eviction", "judged.evictions", ({ permits }) => permits.length > 0),
];

/** The requests that read and write what is remembered. */
const MEMORY_REQUESTS: readonly RequestMoment[] = [
  { name: "write of a memory", isIt: (call) => isWrite(call.verb) && call.name === FREEZE_CONFIG_MAP.name },
  { name: "read of a memory", isIt: ({ verb, resource }) => !isWrite(verb) && resource.plural === "configmaps" },
  { name: "request for the Lease of limits", isIt: ({ name }) => name === LIMITS_LEASE.name },
  { name: "renewal of the Lease of heartbeats", isIt: ({ name }) => name === HEARTBEATS_LEASE.name },
];

/** The requests that carry out what services ask for. */
const REQUESTS: readonly RequestMoment[] = [
  { name: "read of a node", isIt: ({ verb, resource }) => verb === "get" && resource.plural === "nodes" },
  { name: "patch of a node", isIt: ({ verb, resource }) => verb === "patch" && resource.plural === "nodes" },
  { name: "deletion of a pod", isIt: ({ verb, resource }) => verb === "delete" && resource.plural === "pods" },
];

/** The classes, by name. */
export const MOMENT_FAULTS = {
  moments: {
    everySeconds: 4,
    act: (reach, random) => {
      const strikes = new Strikes(reach, random);
      const nth = between(random, 1, NTH_MAX);
      const [messages, requests] = kindsOf(reach, random);
      const disarm =
        random() < MESSAGES_SHARE
          ? atMessage(reach, oneOf(random, messages), nth, strikes.message(oneOf(random, MESSAGE_ACTIONS)))
          : atRequest(reach, oneOf(random, requests), nth, strikes.request(oneOf(random, REQUEST_ACTIONS)));
      return () => {
        disarm();
        strikes.end();
      };
    },
  },
} satisfies Record<string, Meddler>;

/** The kinds that one act chooses from: in a run with policies mostly theirs. */
function kindsOf({ world }: Reach, random: Random): readonly [readonly MessageMoment[], readonly RequestMoment[]] {
  const { policies, remembersOutages } = world.swarm;
  const share = policies !== undefined ? POLICIES_SHARE : remembersOutages === true ? MEMORY_SHARE : 0;
  return random() < share ? [POLICY_MESSAGES, MEMORY_REQUESTS] : [MESSAGES, REQUESTS];
}

/** What may strike a message. */
const MESSAGE_ACTIONS = [
  "sender killed before its message",
  "sender killed after its message",
  "reader killed before a message",
  "reader killed after a message",
  "message lost to one process",
  "message lost",
  "message behind the next",
] as const;

/** What may strike a request. */
const REQUEST_ACTIONS = [
  "sender killed before its request",
  "sender killed before the reply",
  "request lost",
  "reply lost",
] as const;

/** The situations that the class must reach in some run. */
export const MOMENT_SITUATIONS: readonly string[] = [...MESSAGE_ACTIONS, ...REQUEST_ACTIONS];

/** What one act does, and how it ends. */
class Strikes {
  readonly #reach: Reach;
  readonly #random: Random;
  readonly #ends: Stop[] = [];

  constructor(reach: Reach, random: Random) {
    this.#reach = reach;
    this.#random = random;
  }

  /** Starts the processes that have ended, and delivers what was delayed. */
  end(): void {
    for (const end of this.#ends) end();
  }

  message(action: (typeof MESSAGE_ACTIONS)[number]): (subject: string, sender: SimulatedProcess) => Interposition {
    return (subject, sender) => {
      this.#struck(action, subject);
      if (action === "sender killed before its message") {
        this.#kill(sender);
        return { pass: () => {} };
      }
      if (action === "sender killed after its message") {
        return { pass: (_, deliver) => deliver(), passed: () => this.#kill(sender) };
      }
      if (action === "message lost") return { pass: () => {} };
      if (action === "message behind the next") return { pass: (_, deliver) => this.#hold(sender, deliver) };
      const reader = oneOf(this.#random, this.#readersOf(subject, sender));
      const isReader = (member: string): boolean => member === reader.name;
      if (action === "reader killed after a message") this.#killLater(reader);
      else if (action === "reader killed before a message") this.#reach.world.clock.soon(() => this.#kill(reader));
      const reachesIt = action === "reader killed after a message";
      return { pass: (member, deliver) => (reachesIt || !isReader(member) ? deliver() : undefined) };
    };
  }

  request(action: (typeof REQUEST_ACTIONS)[number]): (sender: SimulatedProcess) => RequestFate {
    return (sender) => {
      this.#struck(action, sender.name);
      if (action.startsWith("sender killed")) this.#reach.world.clock.soon(() => this.#kill(sender));
      return action === "sender killed before its request" || action === "request lost" ? "lostRequest" : "lostReply";
    };
  }

  #struck(action: string, where: string): void {
    this.#reach.count(action);
    this.#reach.struck(`moments: ${action} (${where})`);
  }

  /** The processes that read a subject; others than the sender, where there are any. */
  #readersOf(subject: string, sender: SimulatedProcess): readonly SimulatedProcess[] {
    const members = this.#reach.network.readersOf(subject);
    const readers = this.#reach.processes.filter((process) => members.includes(process.name) && process !== sender);
    return readers.length > 0 ? readers : [sender];
  }

  #kill(process: SimulatedProcess): void {
    this.#reach.world.asWorld(() => process.kill());
    this.#ends.push(lasting(this.#reach, this.#random, DEAD_MAX_SECONDS, () => process.start()));
  }

  #killLater(process: SimulatedProcess): void {
    const timer = this.#reach.world.clock.after(oneOf(this.#random, READ_MS), () => this.#kill(process));
    this.#ends.push(() => timer.cancel());
  }

  /** Delivers a message after the next one of its sender that says anything but that it is alive. */
  #hold(sender: SimulatedProcess, deliver: () => void): void {
    const { network, world } = this.#reach;
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      timer.cancel();
      network.interposers.delete(watch);
      world.clock.soon(deliver);
    };
    const timer = world.clock.after(HELD_MAX_MS, release);
    const watch = (subject: string, _payload: Uint8Array, from: { readonly member: string }): null => {
      if (from.member === sender.name && !subject.includes(".pulse")) world.clock.soon(release);
      return null;
    };
    network.interposers.add(watch);
    this.#ends.push(release);
  }
}

function isWrite(verb: string): boolean {
  return !["get", "list", "watch"].includes(verb);
}

function isChanged(now: unknown, before: unknown): boolean {
  return JSON.stringify(now ?? null) !== JSON.stringify(before ?? null);
}
