/** A lock between the processes of one Linux machine, which ends with its holder. */
import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

const AGAIN_MS = 50;

/** Runs something while no other process of the machine runs something under the same name. */
export async function withMachineLock<T>(name: string, run: () => Promise<T>): Promise<T> {
  const release = await machineLock(name);
  try {
    return await run();
  } finally {
    await release();
  }
}

/**
 * Waits until no other process of the machine holds the lock of that name, and holds it until the result is called. An
 * abstract socket has one owner; the kernel frees its name with the process.
 */
export async function machineLock(name: string): Promise<() => Promise<void>> {
  for (;;) {
    const server = createServer().listen(`\0vigil-test-${name}`);
    const isOwn = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (isOwn) return () => new Promise((resolve) => server.close(() => resolve()));
    await pause(AGAIN_MS);
  }
}
