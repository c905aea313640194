/** Decides whether the machine is under pressure, by kubelet's hard eviction thresholds. */
import type { Threshold } from "./agent.settings.ts";
import { type Headroom, type MachineStats, SIGNALS, type Signal } from "./machine-stats.ts";
import { amountOf } from "./resource-quantity.ts";
import type { Pressures } from "./setters/setter.ts";

/** When each signal last crossed its threshold, on the monotonic clock. */
export type PressureState = Readonly<Partial<Record<Signal, number>>>;

const RESOURCE: Readonly<Record<Signal, keyof Pressures>> = {
  "memory.available": "memory",
  "nodefs.available": "disk",
  "nodefs.inodesFree": "disk",
  "pid.available": "pid",
};

/** The state after a measurement. */
export function afterMeasurement(
  state: PressureState,
  headroom: MachineStats["headroom"],
  thresholds: readonly Threshold[],
  nowMs: number,
): PressureState {
  const pressed = thresholds.filter((threshold) => isPast(threshold, headroom[threshold.signal]));
  return { ...state, ...Object.fromEntries(pressed.map(({ signal }) => [signal, nowMs])) };
}

/** The resources under pressure now or less than `transitionMs` ago. */
export function pressuresAt(state: PressureState, nowMs: number, transitionMs: number): Pressures {
  const isRecent = (lastMs: number) => lastMs === nowMs || nowMs - lastMs < transitionMs;
  const pressed = (resource: keyof Pressures) =>
    SIGNALS.some((signal) => RESOURCE[signal] === resource && isRecent(state[signal] ?? Number.NEGATIVE_INFINITY));
  return { memory: pressed("memory"), disk: pressed("disk"), pid: pressed("pid") };
}

function isPast(threshold: Threshold, headroom: Headroom | undefined): boolean {
  if (headroom === undefined) return false;
  const minimum = "below" in threshold ? threshold.below : threshold.belowFraction * headroom.capacity;
  return headroom.available < minimum;
}

/**
 * Thresholds as kubelet's --eviction-hard writes them: `memory.available<100Mi,nodefs.available<10%`. Throws a
 * RangeError that names the invalid part.
 */
export function parseThresholds(text: string): readonly Threshold[] {
  return text
    .split(",")
    .filter((part) => part.trim() !== "")
    .map(parseThreshold);
}

function parseThreshold(part: string): Threshold {
  const [name = "", amount = ""] = part.split("<").map((side) => side.trim());
  const signal = SIGNALS.find((known) => known === name);
  if (signal === undefined) throw new RangeError(`${name}: not a signal; known are ${SIGNALS.join(", ")}`);
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(amount)?.[1];
  if (percent !== undefined && Number(percent) <= 100) return { signal, belowFraction: Number(percent) / 100 };
  const below = amountOf(amount);
  if (below === null || below < 0) throw new RangeError(`${part.trim()}: write it as ${signal}<100Mi or ${signal}<10%`);
  return { signal, below };
}
