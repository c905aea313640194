/** How many files a reader has to open to follow one verdict, and one deletion: a number that may fall. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

/** The most files of each journey, as they are. */
const FILES_MAX = { verdict: 114, DELETE: 75 };

test("no more files run in the millisecond of a verdict or a DELETE", () => {
  const printed = execFileSync(process.execPath, [join(import.meta.dirname, "journeys.ts")], { encoding: "utf8" });
  for (const [journey, filesMax] of Object.entries(FILES_MAX)) {
    const [, files = ""] = new RegExp(`^${journey}: (\\d+) files$`, "m").exec(printed) ?? [];
    expect.soft(Number(files), journey).toBeGreaterThan(0);
    expect.soft(Number(files), journey).toBeLessThanOrEqual(filesMax);
  }
});
