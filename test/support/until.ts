/** Waits for a real server; tests on virtual time do not need it. */

/** A pause is at least so many times as long as its check: a check by a program must not use a complete core. */
const PAUSE_PER_CHECK = 3;
const PAUSE_MAX_MS = 1_000;

/**
 * Resolves as soon as the condition is true. It is checked every `everyMs`, or less often where a check lasts long.
 * Rejects with `what`, as of that moment, after `withinMs`.
 */
export async function until(
  what: string | (() => string),
  holds: () => boolean | Promise<boolean>,
  { withinMs = 30_000, everyMs = 10 }: { readonly withinMs?: number; readonly everyMs?: number } = {},
): Promise<void> {
  const endMs = performance.now() + withinMs;
  for (;;) {
    const startMs = performance.now();
    if (await holds()) return;
    const nowMs = performance.now();
    if (nowMs > endMs) throw new Error(`not within ${withinMs} ms: ${typeof what === "string" ? what : what()}`);
    const pauseMs = Math.min((nowMs - startMs) * PAUSE_PER_CHECK, PAUSE_MAX_MS);
    await new Promise((resolve) => setTimeout(resolve, Math.max(everyMs, pauseMs)));
  }
}
