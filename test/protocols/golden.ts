/** Reads the golden messages: every form that version 1 of the protocol has put on the wire. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One golden message: the subject it was sent on and its frame as the wire carried it. */
export interface Golden {
  readonly file: string;
  readonly subject: string;
  readonly frame: { readonly type: string; readonly body: unknown; readonly [field: string]: unknown };
}

const FOLDER = join(import.meta.dirname, "golden", "v1");

/** Every golden message, file by file. */
export function readGolden(): Golden[] {
  return readdirSync(FOLDER).flatMap((file) => {
    const messages: Omit<Golden, "file">[] = JSON.parse(readFileSync(join(FOLDER, file), "utf8"));
    return messages.map((message) => ({ file, ...message }));
  });
}
