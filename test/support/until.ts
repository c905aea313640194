/** Waiting for something a real server does; tests on virtual time have no use for it. */

/**
 * Resolves as soon as the condition holds, which is asked every `everyMs`; rejects with `what` after `withinMs`, as it
 * is then.
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
