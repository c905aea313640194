/**
 * Makes an NKey for every role, or for every process that is named: seeds for the processes, and for nats-server
 * keys.conf with the public keys and roles.conf with the permissions. Also makes the password between the servers of a
 * cluster. Existing seeds are kept, so that a process can be added.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import {
  HISTORY_ROLE,
  keyVariable,
  NATS_ROLES,
  type NatsProcess,
  PROCESS_ROLES,
  rolesConfig,
  usersOf,
} from "./roles.ts";

const USAGE =
  "name the folder to write to, and the processes that get a user of their own, if any: " +
  "npx node deploy/nats/make-keys.ts <folder> [<role>=<member>,<member>…]…";

/** A DNS label, like a pod name: valid in a NATS subject and in a variable. */
const MEMBER = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/** The names of new and of existing files. */
export interface MadeKeys {
  readonly made: readonly string[];
  readonly kept: readonly string[];
}

/**
 * Writes a seed `<role>.nk` for every role, or `<member>.nk` for every process that is given, and `route-password`
 * into a folder, where they are not there; and `keys.conf` and `roles.conf`, each time. Throws an Error for a seed that
 * cannot be read.
 */
export function makeKeys(folder: string, processes: readonly NatsProcess[] = []): MadeKeys {
  mkdirSync(folder, { recursive: true });
  const made: string[] = [];
  const kept: string[] = [];
  /** The contents of a file, which is written unless it is there. */
  const secretIn = (name: string, create: () => Uint8Array): Uint8Array => {
    const file = join(folder, name);
    const isThere = existsSync(file);
    (isThere ? kept : made).push(name);
    if (!isThere) writeFileSync(file, create(), { mode: 0o600, flag: "wx" });
    return readFileSync(file);
  };
  const variables = usersOf(processes).map((user) => {
    const seed = secretIn(`${user}.nk`, () => nkeys.createUser().getSeed());
    return `${keyVariable(user)}: "${publicKeyOf(seed, join(folder, `${user}.nk`))}"`;
  });
  // It begins with a letter, because nats-server parses a value that looks like a number as one.
  secretIn("route-password", () => new TextEncoder().encode(`r${randomBytes(24).toString("hex")}`));
  writeFileSync(join(folder, "keys.conf"), `${variables.join("\n")}\n`);
  writeFileSync(join(folder, "roles.conf"), rolesConfig(processes));
  return { made, kept };
}

function publicKeyOf(seed: Uint8Array, file: string): string {
  try {
    return nkeys.fromSeed(new TextEncoder().encode(new TextDecoder().decode(seed).trim())).getPublicKey();
  } catch {
    throw new Error(`${file}: must hold an NKey seed; delete it to have a new one made`);
  }
}

/** The processes that words of the form `<role>=<member>,<member>` name. Throws an Error of one line. */
function processesOf(words: readonly string[]): NatsProcess[] {
  const processes = words.flatMap((word) => {
    const [role = "", members = ""] = word.split("=");
    if (!PROCESS_ROLES.includes(role)) throw new Error(`${word}: the role must be one of ${PROCESS_ROLES.join(", ")}`);
    return members.split(",").map((member) => ({ role, member }));
  });
  const names = processes.map(({ member }) => member);
  const taken = [...NATS_ROLES, HISTORY_ROLE];
  for (const [index, name] of names.entries()) {
    if (!MEMBER.test(name))
      throw new Error(`${JSON.stringify(name)}: a member's name must be lower-case letters, digits and -`);
    if (taken.includes(name)) throw new Error(`${name}: is the name of a role; give the process another name`);
    if (names.indexOf(name) !== index) throw new Error(`${name}: is named twice; give each process a name of its own`);
  }
  return processes;
}

if (import.meta.main) {
  const [folder, ...words] = process.argv.slice(2);
  if (folder === undefined || folder.includes("=")) {
    process.stderr.write(`${USAGE}\n`);
    process.exit(2);
  }
  try {
    const { made, kept } = makeKeys(folder, processesOf(words));
    process.stdout.write(
      `made ${made.length}, kept ${kept.length} that were there${kept.length === 0 ? "" : `: ${kept.join(", ")}`}\n`,
    );
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
