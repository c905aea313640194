/**
 * Makes an NKey for every role: seeds for the processes, and keys.conf with their public halves for nats-server. And
 * the password by which the servers of a cluster know each other.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nkeys } from "@nats-io/transport-node";
import { HISTORY_ROLE, keyVariable, NATS_ROLES } from "./roles.ts";

/**
 * Writes `<role>.nk` for every role, `keys.conf` and `route-password` into a folder. Throws when a file is there
 * already.
 */
export function makeKeys(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const variables = [...NATS_ROLES, HISTORY_ROLE].map((role) => {
    const pair = nkeys.createUser();
    writeFileSync(join(folder, `${role}.nk`), pair.getSeed(), { mode: 0o600, flag: "wx" });
    return `${keyVariable(role)}: "${pair.getPublicKey()}"`;
  });
  // It begins with a letter, because nats-server takes what looks like a number for one.
  writeFileSync(join(folder, "route-password"), `r${randomBytes(24).toString("hex")}`, { mode: 0o600, flag: "wx" });
  writeFileSync(join(folder, "keys.conf"), `${variables.join("\n")}\n`, { flag: "wx" });
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    process.stderr.write("name the folder to write to: npx node deploy/nats/make-keys.ts <folder>\n");
    process.exit(2);
  }
  try {
    makeKeys(folder);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}; name a folder for new keys\n`);
    process.exit(1);
  }
}
