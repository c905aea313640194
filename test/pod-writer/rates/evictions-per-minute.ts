/** How many evictions a minute had at most. It asserts nothing. */
const MINUTE_MS = 60_000;

/** The most evictions within any minute. */
export function mostInAMinute(deleted: readonly { readonly atMs: number }[]): number {
  const within = (last: number) => deleted.filter(({ atMs }) => atMs > last - MINUTE_MS && atMs <= last).length;
  return Math.max(0, ...deleted.map(({ atMs }) => within(atMs)));
}
