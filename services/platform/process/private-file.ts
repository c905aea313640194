/** Writes files with credentials, which only their owner may read. */
import { lstatSync, rmSync, writeFileSync } from "node:fs";

/** Read and written by the owner alone. */
const OWNER_ONLY = 0o600;

/**
 * Writes a text file that only its owner can read. A file that exists is replaced, because others may have it open or
 * may read it by its mode; a link is refused, because another user may have made it. Throws the file system's Error.
 */
export function writePrivateFile(path: string, text: string): void {
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing?.isSymbolicLink() === true) throw new Error("is a symbolic link; name the file that it leads to");
  if (existing?.isFile() === true) rmSync(path);
  const isDevice = existing !== undefined && !existing.isFile();
  writeFileSync(path, text, { mode: OWNER_ONLY, flag: isDevice ? "w" : "wx" });
}
