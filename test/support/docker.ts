/** The Docker engine and the images that tests run on it: public ones, unless the environment names others. */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const { NODE_IMAGE = "node:24-bookworm-slim", NATS_IMAGE = "nats:2.14-alpine", VIGIL_IMAGE } = process.env;

// Its cleaner is an image too; what a test starts it ends itself.
process.env.TESTCONTAINERS_RYUK_DISABLED = "true";

/** The images: VIGIL_IMAGE is built from the Dockerfile where the environment names none. */
export const IMAGES = { nats: NATS_IMAGE, vigil: VIGIL_IMAGE ?? "vigil:test" };

/** Runs the Docker client. */
export function docker(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync("docker", args, { encoding: "utf8" });
}

/** Compose as a plugin of the client or as a program of its own; null when there is none. */
export function composeProgram(): readonly string[] | null {
  if (docker("compose", "version").status === 0) return ["docker", "compose"];
  return spawnSync("docker-compose", ["version"]).status === 0 ? ["docker-compose"] : null;
}

/**
 * A suite that needs containers, and perhaps something more that is missing: skipped with a line that says so, but
 * failed where CI is set.
 */
export function describeWithDocker(name: string, suite: () => void, alsoMissing: string | null = null): void {
  const missing = whatIsMissing() ?? alsoMissing;
  if (missing === null) {
    describe(name, suite);
  } else if (process.env.CI) {
    test(name, () => expect.fail(missing));
  } else {
    console.warn(`${name}: ${missing}`);
    describe.skipIf(true)(name, suite);
  }
}

function whatIsMissing(): string | null {
  if (docker("info").status !== 0) return "no Docker engine: apt-get install docker.io, and start dockerd";
  const isThere = (image: string) => docker("image", "inspect", image).status === 0;
  const local = "`npm run images` builds images from what this machine has, and prints their names";
  if (!isThere(IMAGES.nats) && docker("pull", IMAGES.nats).status !== 0) return `no image ${IMAGES.nats}: ${local}`;
  if (VIGIL_IMAGE !== undefined) return isThere(VIGIL_IMAGE) ? null : `no image ${VIGIL_IMAGE}: ${local}`;
  const built = docker("build", "--build-arg", `NODE_IMAGE=${NODE_IMAGE}`, "--tag", IMAGES.vigil, ROOT);
  return built.status === 0 ? null : `the image cannot be built (${built.stderr.trim().split("\n").at(-1)}): ${local}`;
}
