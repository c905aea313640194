/** The faults of the soak: each is drawn at random, lasts a while and is repaired. It checks nothing. */
import type { Random } from "../../protocols/ports.ts";
import type { CutKind } from "./soak.member.ts";
import type { SoakWorld } from "./soak.world.ts";

/** A fault under way: its description for the report, its end, and when that is due. */
export interface Fault {
  readonly what: string;
  readonly lastsMs: number;
  readonly end: () => Promise<void> | void;
}

type Draw = (world: SoakWorld, random: Random) => Promise<Fault> | Fault;

const SECOND = 1000;

const FAULTS = {
  async kill(world, random) {
    const member = one(random, world.members);
    await member.kill();
    return { what: `kill -9 ${member.name}`, lastsMs: between(random, 0, 8), end: () => member.start() };
  },
  standstill(world, random) {
    const member = one(random, world.members);
    const lastsMs = between(random, 1, 60);
    member.stop();
    return { what: `SIGSTOP ${member.name}`, lastsMs, end: () => member.wake() };
  },
  apiCut: (world, random) => cut(world, random, "api"),
  natsCut: (world, random) => cut(world, random, "nats"),
  async natsServer(world, random) {
    const index = Math.floor(random() * world.nats.length);
    const server = world.nats[index];
    await server?.kill();
    return { what: `NATS server ${index} killed`, lastsMs: between(random, 2, 15), end: () => server?.start() };
  },
  async apiServer(world) {
    const restarted = world.api.restart();
    return { what: "API server restarted", lastsMs: 0, end: () => restarted };
  },
  wave: (world, random) => {
    const count = Math.ceil(random() * 0.15 * world.nodeCount);
    const nodes = world.silence(count, random);
    return { what: `${nodes.length} nodes silent`, lastsMs: between(random, 30, 120), end: () => world.resume(nodes) };
  },
} satisfies Readonly<Record<string, Draw>>;

/** The other faults are meant to disturb silent nodes, so about every second fault is a wave of them. */
const WAVE_SHARE = 0.4;

/** Draws a fault, injects it, and returns its end. */
export async function strike(world: SoakWorld, random: Random): Promise<Fault> {
  const draw = random() < WAVE_SHARE ? FAULTS.wave : one(random, Object.values(FAULTS));
  return draw(world, random);
}

function cut(world: SoakWorld, random: Random, way: "api" | "nats"): Fault {
  const member = one(random, world.members);
  const kind = one<CutKind>(random, ["refused", "requests lost", "replies lost"]);
  member.cut(way, kind);
  const what = `${member.name} cut from ${way === "api" ? "the API" : "NATS"}: ${kind}`;
  return { what, lastsMs: between(random, 3, 45), end: () => member.mend(way) };
}

function one<T>(random: Random, choices: readonly T[]): T {
  const chosen = choices[Math.floor(random() * choices.length)];
  if (chosen === undefined) throw new RangeError("nothing to choose from");
  return chosen;
}

function between(random: Random, leastSeconds: number, mostSeconds: number): number {
  return (leastSeconds + random() * (mostSeconds - leastSeconds)) * SECOND;
}
