/** The Docker engine and the images that tests run on it: public ones, unless the environment names others. */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeUnless } from "./describe-unless.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The public images by the variables that replace them: exactly those that compose.yaml names. */
export const IMAGES_OF_OTHERS = {
  NODE_IMAGE: defaultOf("NODE_IMAGE"),
  NATS_IMAGE: defaultOf("NATS_IMAGE"),
  PROMETHEUS_IMAGE: defaultOf("PROMETHEUS_IMAGE"),
};

const { NODE_IMAGE, NATS_IMAGE, PROMETHEUS_IMAGE } = { ...IMAGES_OF_OTHERS, ...process.env };
const { VIGIL_IMAGE } = process.env;

// Its cleaner would be one more image; each test ends the containers that it starts.
process.env.TESTCONTAINERS_RYUK_DISABLED = "true";

/** The images; VIGIL_IMAGE is built from the Dockerfile unless the environment names one. */
export const IMAGES = { nats: NATS_IMAGE, prometheus: PROMETHEUS_IMAGE, vigil: VIGIL_IMAGE ?? "vigil:test" };

/** The image that compose.yaml uses where the environment does not set this variable. */
function defaultOf(variable: string): string {
  const compose = readFileSync(join(ROOT, "compose.yaml"), "utf8");
  const [, image] = new RegExp(`\\$\\{${variable}:-(.+)\\}`).exec(compose) ?? [];
  if (image === undefined) throw new Error(`compose.yaml has no \${${variable}:-…}`);
  return image;
}

/** Runs the Docker client. */
export function docker(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync("docker", args, { encoding: "utf8" });
}

/** Compose as a plugin of the client or as a program of its own; null when neither is installed. */
export function composeProgram(): readonly string[] | null {
  if (docker("compose", "version").status === 0) return ["docker", "compose"];
  return spawnSync("docker-compose", ["version"]).status === 0 ? ["docker-compose"] : null;
}

/**
 * Throws when a network could not be removed, unless the engine only miscounts its endpoints, as engines before 28
 * sometimes do when many containers end at once (moby/moby#42119). Such a network stays until the engine restarts, and
 * a line reports it.
 */
export function excuseKeptNetwork(error: unknown): void {
  if (!/network .* has active endpoints/.test(String(error))) throw error;
  console.warn("the engine keeps an empty network: it says that it has active endpoints");
}

/** A suite that needs containers. Without them the suite is skipped with a line; where CI is set it fails. */
export function describeWithDocker(name: string, suite: () => void): void {
  describeUnless(missingForContainers(), name, suite);
}

/** The same for a suite that starts compose.yaml. */
export function describeWithCompose(name: string, suite: () => void): void {
  const missing = composeProgram() === null ? "no compose: apt-get install docker-compose" : null;
  describeUnless(missingForContainers() ?? missing ?? missingImage(IMAGES.prometheus), name, suite);
}

const LOCAL = "`npm run images` builds images from what this machine has, and prints their names";
const isThere = (image: string): boolean => docker("image", "inspect", image).status === 0;

function missingImage(image: string): string | null {
  return isThere(image) || docker("pull", image).status === 0 ? null : `no image ${image}: ${LOCAL}`;
}

function missingForContainers(): string | null {
  if (docker("info").status !== 0) return "no Docker engine: apt-get install docker.io, and start dockerd";
  return missingImage(IMAGES.nats) ?? missingProduct();
}

function missingProduct(): string | null {
  if (VIGIL_IMAGE !== undefined) return isThere(VIGIL_IMAGE) ? null : `no image ${VIGIL_IMAGE}: ${LOCAL}`;
  const built = docker("build", "--build-arg", `NODE_IMAGE=${NODE_IMAGE}`, "--tag", IMAGES.vigil, ROOT);
  return built.status === 0 ? null : `the image cannot be built (${built.stderr.trim().split("\n").at(-1)}): ${LOCAL}`;
}
