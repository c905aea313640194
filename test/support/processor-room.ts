/** How much of a Linux machine's processor time is to spare, from two readings of /proc/stat. */

/** Ticks since the machine booted, over all its processors. */
export interface ProcessorTimes {
  /** Idle, waiting for a disk, or taken by niced processes, which give way to any other. */
  readonly spare: number;
  readonly all: number;
}

/** The times of the line `cpu` of /proc/stat (proc_stat(5)). Throws where there is none. */
export function processorTimesOf(stat: string): ProcessorTimes {
  const line = /^cpu +(\d.*)$/m.exec(stat)?.[1];
  if (line === undefined) throw new Error("/proc/stat has no line of the whole processor");
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = line
    .split(" ")
    .map(Number);
  const spare = nice + idle + iowait;
  return { spare, all: spare + user + system + irq + softirq + steal };
}

/** The share of the processor's time between two readings that was to spare, from 0 to 1; 0 where no time passed. */
export function processorRoom(before: ProcessorTimes, after: ProcessorTimes): number {
  const all = after.all - before.all;
  return all > 0 ? (after.spare - before.spare) / all : 0;
}
