/** What the operating system says of a process: its CPU time and its memory. Linux alone tells it, under /proc. */
import { readFileSync, writeFileSync } from "node:fs";
import { pause } from "./pause.ts";

/** CPU time of a process since it started, and its memory. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly rssMebibytes: number;
  /** The most memory it has held since its start or since `resetPeak`. */
  readonly peakMebibytes: number;
}

/** What a process took over a window of time. */
export interface WindowUsage {
  /** Of one core: 0.1 is a tenth of it. */
  readonly cores: number;
  readonly rssMebibytes: number;
  readonly peakMebibytes: number;
}

/** The kernel counts CPU time for user space in hundredths of a second, on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;
/** Written to clear_refs, it makes the kernel forget the peak. */
const FORGET_PEAK = "5";
const KIBIBYTES = 1024;

/** Reads a running process; throws when there is none. */
export function usageOf(pid: number): ProcessUsage {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the program stands in brackets and may hold spaces; utime and stime are the 12th and 13th after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mebibytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / KIBIBYTES;
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    rssMebibytes: mebibytes("VmRSS"),
    peakMebibytes: mebibytes("VmHWM"),
  };
}

/** From now on the peak of this process is counted anew. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, FORGET_PEAK);
}

/** What named processes take from now on, for `windowMs`. */
export async function usageOver<N extends string>(
  pids: Readonly<Record<N, number>>,
  windowMs: number,
): Promise<Record<N, WindowUsage>> {
  const entries = Object.entries<number>(pids);
  for (const [, pid] of entries) resetPeak(pid);
  const before = entries.map(([, pid]) => usageOf(pid).cpuSeconds);
  const startedMs = performance.now();
  await pause(windowMs);
  const seconds = (performance.now() - startedMs) / 1000;
  const used = entries.map(([name, pid], index) => {
    const { cpuSeconds, rssMebibytes, peakMebibytes } = usageOf(pid);
    return [name, { cores: (cpuSeconds - (before[index] ?? 0)) / seconds, rssMebibytes, peakMebibytes }];
  });
  return Object.fromEntries(used) as Record<N, WindowUsage>;
}
