/** Waits for a real server; tests on virtual time do not need it. */

/**
 * Resolves as soon as the condition holds, which is checked every `everyMs`. Rejects with `what`, as of that moment,
 * after `withinMs`.
 */
export async function until(
  what: string | (() => string),
  holds: () => boolean | Promise<boolean>,
  { withinMs = 30_000, everyMs = 10 }: { readonly withinMs?: number; readonly everyMs?: number } = {},
): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > endMs)
      throw new Error(`not within ${withinMs} ms: ${typeof what === "string" ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
