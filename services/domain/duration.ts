/** Durations in the notation of Go's flags, such as `1m30s` or `300ms`. */

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ns", 1e-6],
]);
/** A thousand years, longer than any duration of Go: the present plus it is an instant that the API can hold. */
export const DURATION_MS_MAX: number = 1000 * 365 * 24 * 3_600_000;

const NANOSECONDS_PER_MS = 1e6;
const TERM = /(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|μs|ns)/y;

/** A duration in milliseconds; null when the text is none. As in Go, a bare `0` is one. */
export function parseDuration(text: string): number | null {
  const sign = text.startsWith("-") ? -1 : 1;
  const terms = text.replace(/^[+-]/, "");
  if (terms === "0") return 0;
  let totalMs = 0;
  let read = 0;
  while (read < terms.length) {
    TERM.lastIndex = read;
    const [term = "", amount = "", unit = ""] = TERM.exec(terms) ?? [];
    if (term === "") return null;
    totalMs += Number(amount) * (UNIT_MS.get(unit) ?? 0);
    read += term.length;
  }
  return read === 0 ? null : (sign * Math.round(totalMs * NANOSECONDS_PER_MS)) / NANOSECONDS_PER_MS;
}

/** A duration as `1h30m`, `50s` or `300ms`; `parseDuration` reads the same milliseconds back. */
export function formatDuration(durationMs: number): string {
  if (durationMs === 0) return "0s";
  if (durationMs < 0) return `-${formatDuration(-durationMs)}`;
  if (durationMs < 1000) return `${durationMs}ms`;
  const hours = Math.floor(durationMs / 3_600_000);
  const minutes = Math.floor((durationMs % 3_600_000) / 60_000);
  const restMs = durationMs % 60_000;
  const rest = Number.isInteger(restMs / 10) ? `${restMs / 1000}s` : `${Math.floor(restMs / 1000)}s${restMs % 1000}ms`;
  return [hours > 0 ? `${hours}h` : "", minutes > 0 ? `${minutes}m` : "", restMs > 0 ? rest : ""].join("");
}
