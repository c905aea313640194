/** What a process that stays does not load. */
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

test.each(["run", "agent"])("vigil %s loads no client for fetch", (verb) => {
  const url = new URL(`../../../services/cli/verbs/${verb}.ts`, import.meta.url).href;
  const program = `await import(${JSON.stringify(url)});
console.log(process.moduleLoadList.filter((name) => name.includes("undici")).join());`;
  expect(execFileSync(process.execPath, ["--input-type=module", "-e", program]).toString().trim()).toBe("");
});
