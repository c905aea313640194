/**
 * An attacker with the seed of one process publishes fleet pulses, as the permissions of every role allow: under the
 * names of live processes and under invented names.
 */
import { frameId, positionOf, type StreamPosition } from "../../../protocols/frame.ts";
import type { Message } from "../../../protocols/messages.ts";
import type { Random, Stop, Timer } from "../../../protocols/ports.ts";
import { patternOf } from "../../../protocols/subjects.ts";
import { decode, encode, MalformedMessage, subjectFor } from "../../../protocols/wire.ts";
import { between, oneOf } from "../chance.ts";
import { lasting, type Meddler, type Reach } from "../meddler.ts";
import { SIMULATED_SERVICES } from "../simulated-services.ts";

/** The name of simulated clusters. */
const CLUSTER = "sim";
const HIGHEST = Number.MAX_SAFE_INTEGER;
/** Shorter than the time after which a member counts as silent. */
const INVENTED_EVERY_MS = 1000;

/** Every forged pulse: a liar does not answer another. */
const FORGED = new WeakSet<Uint8Array>();

type Pulse = Message<"pulse.member">;

/** A pulse made from a true one, and its place in a stream. */
type Lie = (pulse: Pulse, place: StreamPosition) => { readonly body: Partial<Pulse["body"]>; readonly place: object };

/** The forged pulses that follow a true pulse of a process, in its name. */
const LIES: Readonly<Record<string, Lie>> = {
  "pulse from the end of time": () => ({ body: { services: [] }, place: { epoch: HIGHEST } }),
  "pulse with the last number": () => ({ body: { services: [] }, place: { sequence: HIGHEST } }),
  "pulse of a later life": ({ at }) => ({ body: { services: [], since: at + 1 }, place: { epoch: Math.ceil(at + 1) } }),
  "goodbye of a later life": ({ at }) => ({
    body: { leaving: true, since: at + 1 },
    place: { epoch: Math.ceil(at + 1) },
  }),
  "goodbye forged": (_pulse, { sequence }) => ({ body: { leaving: true }, place: { sequence: sequence + 1 } }),
  "inability forged": ({ at, body }) => ({
    body: { unable: { services: body.services, since: at } },
    place: { sequence: HIGHEST },
  }),
};

/** The situations that the class brings about. */
export const LYING_SITUATIONS: readonly string[] = [...Object.keys(LIES), "members invented"];

/** The classes, by name. */
export const LYING_MEMBER_FAULTS = {
  lyingMembers: {
    everySeconds: 40,
    act: (reach, random) => {
      const end = random() < 0.3 ? invent(reach, random) : forge(reach, random);
      return lasting(reach, random, 60, end);
    },
  },
} satisfies Record<string, Meddler>;

/** Answers each pulse of a process with one in its name. */
function forge(reach: Reach, random: Random): Stop {
  const { name: victim } = oneOf(random, reach.processes);
  const [situation, lie] = oneOf(random, Object.entries(LIES));
  const link = linkOf(reach);
  link.subscribe(patternOf(CLUSTER, "pulse.member", "all", 1), (payload, subject) => {
    const pulse = FORGED.has(payload) ? null : pulseIn(payload);
    const place = pulse === null ? null : positionOf(pulse.id);
    if (pulse === null || place === null || pulse.body.member !== victim) return;
    const lied = lie(pulse, place);
    const { epoch, sequence } = { ...place, ...lied.place };
    const id = frameId(pulse.source, epoch, pulse.type, 0, sequence);
    const bytes = encode({ ...pulse, id, body: { ...pulse.body, ...lied.body } });
    FORGED.add(bytes);
    reach.count(situation);
    link.publish(subject, bytes);
  });
  return () => link.close();
}

/** Pulses in the names of processes that do not exist, with every service. */
function invent(reach: Reach, random: Random): Stop {
  const { clock } = reach.world;
  const names = Array.from({ length: between(random, 1, 20) }, (_, index) => `invented-${index + 1}`);
  const link = linkOf(reach);
  const epoch = Math.floor(clock.wallMs());
  let sequence = 0;
  let timer: Timer;
  const round = (): void => {
    sequence += 1;
    reach.count("members invented");
    for (const member of names) {
      const body = { member, services: [...SIMULATED_SERVICES], since: epoch, leaving: false };
      const source = `fleet@${member}`;
      const id = frameId(source, epoch, "pulse.member", 0, sequence);
      const frame = { type: "pulse.member", id, source, at: clock.wallMs(), cause: null } as const;
      link.publish(subjectFor(CLUSTER, "pulse.member", body), encode({ ...frame, body }));
    }
    timer = clock.after(INVENTED_EVERY_MS, round);
  };
  round();
  return () => {
    timer.cancel();
    link.close();
  };
}

function linkOf({ network }: Reach) {
  return network.link({ name: "liar", member: "liar", read: (take) => take() });
}

function pulseIn(payload: Uint8Array): Pulse | null {
  const message = decode(payload);
  return message instanceof MalformedMessage || !isPulse(message) ? null : message;
}

function isPulse(message: Message): message is Pulse {
  return message.type === "pulse.member";
}
