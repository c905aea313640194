/** The nats-servers of this machine, and suites that need one or run on each. It starts none. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { describeUnless } from "./describe-unless.ts";

/** What a test prints when there is no nats-server. */
const NATS_SERVER_MISSING = "nats-server not found: apt-get install nats-server";

/** A program. */
interface NatsProgram {
  readonly path: string;
  readonly version: string;
}

/** The program on which `describeWithEachNats` runs its suite at the moment. */
let underTest: string | null = null;

/** The programs of NATS_SERVER, in the format of PATH, and the first one on the PATH or where Debian puts it. */
function paths(): string[] {
  const { NATS_SERVER: given = "", PATH: path = "" } = process.env;
  const places = [...path.split(delimiter), "/usr/sbin", "/usr/local/bin"].map((folder) => join(folder, "nats-server"));
  const own = places.find((place) => existsSync(place)) ?? "";
  return [...given.split(delimiter), own].filter((place) => existsSync(place));
}

/** The nats-server for a test: that of its suite, or the first one found; null when none is installed. */
export function findNatsServer(): string | null {
  return underTest ?? paths()[0] ?? null;
}

/** The same; throws a line on how to get one when none is installed. */
export function natsServer(): string {
  const program = findNatsServer();
  if (program === null) throw new Error(NATS_SERVER_MISSING);
  return program;
}

/**
 * A suite that needs nats-server. Without it the suite is skipped with a line on how to get it; where CI is set it
 * fails.
 */
export function describeWithNats(name: string, suite: () => void): void {
  describeUnless(findNatsServer() === null ? NATS_SERVER_MISSING : null, name, suite);
}

/** The same for a suite that runs on each installed version of nats-server. */
export function describeWithEachNats(name: string, suite: () => void): void {
  const programs = eachVersion();
  if (programs.length === 0) describeWithNats(name, suite);
  for (const { path, version } of programs) {
    describe(`on nats-server ${version} ${name}`, () => {
      beforeAll(() => {
        underTest = path;
      });
      afterAll(() => {
        underTest = null;
      });
      suite();
    });
  }
}

function eachVersion(): NatsProgram[] {
  const versionOf = (path: string) => execFileSync(path, ["--version"], { encoding: "utf8" }).trim().split("v").at(-1);
  return [...new Map(paths().map((path) => [versionOf(path) ?? "", path]))].map(([version, path]) => ({
    path,
    version,
  }));
}
