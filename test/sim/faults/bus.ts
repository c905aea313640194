/** Faults of the bus between the processes: lost, doubled and late messages, cut and slow links. */
import { SHARD_COUNT } from "../../../protocols/subjects.ts";
import { between, oneOf } from "../chance.ts";
import { lasting, type Meddler, withLinks } from "../meddler.ts";

/** The classes, by name. */
export const BUS_FAULTS = {
  loss: { everySeconds: 60, act: (reach, random) => withLinks(reach, random, { loss: random() * 0.3 }) },
  lostPulses: {
    everySeconds: 45,
    act: (reach, random) => {
      const isMuted = new Set(Array.from({ length: SHARD_COUNT }, (_, shard) => shard).filter(() => random() < 0.5));
      reach.network.muted = (subject) => {
        const [, , , kind, noun, shard] = subject.split(".");
        return kind === "observed" && noun === "pulse" && isMuted.has(Number(shard));
      };
      return lasting(reach, random, 60, () => {
        reach.network.muted = () => false;
      });
    },
  },
  doubling: { everySeconds: 60, act: (reach, random) => withLinks(reach, random, { doubling: random() * 0.3 }) },
  lateness: {
    everySeconds: 60,
    act: (reach, random) => withLinks(reach, random, { lateness: random() * 0.2, latenessMaxMs: 5_000 }),
  },
  partitions: {
    everySeconds: 90,
    act: (reach, random) => {
      const { link } = oneOf(random, reach.processes);
      if (link === null) return undefined;
      const cut = oneOf(random, [
        { up: true, down: true },
        { up: true, down: false },
        { up: false, down: true },
      ]);
      return lasting(reach, random, 60, reach.network.cut(link, cut));
    },
  },
  slowConsumers: {
    everySeconds: 60,
    act: ({ world, processes }, random) => {
      const { link } = oneOf(random, processes);
      if (link !== null) link.stalledUntilMs = world.clock.monotonicMs() + between(random, 500, 8_000);
      return undefined;
    },
  },
} satisfies Record<string, Meddler>;
