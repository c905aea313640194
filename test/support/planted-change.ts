/** Changes of the source that tests must notice, planted in a copy of the tree. */
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** A change as a replacement: a text that occurs once in a file, and its substitute. */
export interface PlantedChange {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/**
 * The text of a change's file below `root` with the change in it. Throws when the source has changed and no longer
 * contains the place.
 */
export function planted({ name, file, from, to }: PlantedChange, root = ROOT): string {
  const text = readFileSync(join(root, file), "utf8");
  const found = text.split(from).length - 1;
  if (found !== 1) throw new Error(`${name}: its text is ${found} times in ${file}, not once; bring it up to date`);
  return text.replace(from, () => to);
}

/** Plants a change in a copy of the tree; the returned function removes it again. Throws as `planted` does. */
export function plant(change: PlantedChange, copy: string): () => void {
  const file = join(copy, change.file);
  const before = readFileSync(file, "utf8");
  writeFileSync(file, planted(change, copy));
  return () => writeFileSync(file, before);
}

/** A copy of these files and folders of the present tree, with the same packages, in a temporary folder. */
export function copiedTree(paths: readonly string[]): string {
  const copy = mkdtempSync(join(tmpdir(), "vigil-copy-"));
  for (const path of ["package.json", ...paths]) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
}
