/** CPU time and memory of a process as the operating system reports them. It needs Linux's /proc. */
import { readFileSync, writeFileSync } from "node:fs";
import { pause } from "./pause.ts";

/** CPU time of a process since it started, and its memory. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly rssMebibytes: number;
  /** The peak memory of the process since its start or since `resetPeak`. */
  readonly peakMebibytes: number;
}

/** The usage of a process over a window of time. */
export interface WindowUsage {
  /** In cores: 0.1 is a tenth of one. */
  readonly cores: number;
  readonly rssMebibytes: number;
  readonly peakMebibytes: number;
}

/** The kernel counts CPU time for user space in hundredths of a second on every architecture that Node supports. */
const TICKS_PER_SECOND = 100;
/** Written to clear_refs, it resets the peak. */
const FORGET_PEAK = "5";
const KIBIBYTES = 1024;

/** Reads a running process; throws when it does not exist. */
export function usageOf(pid: number): ProcessUsage {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The program's name is in brackets and may contain spaces; utime and stime are the 12th and 13th field after it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mebibytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / KIBIBYTES;
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    rssMebibytes: mebibytes("VmRSS"),
    peakMebibytes: mebibytes("VmHWM"),
  };
}

/** Starts a new peak of this process. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, FORGET_PEAK);
}

/** The usage of named processes from now on, over `windowMs`. */
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
