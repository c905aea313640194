/** Waiting for something a real server does; tests on virtual time have no use for it. */

/** Resolves as soon as the condition holds; rejects with what was awaited after `withinMs`. */
export async function until(what: string, holds: () => boolean, withinMs = 20_000): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!holds()) {
    if (performance.now() > endMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
