/** The restart under V8's heap flags: once, as the same process, with the same arguments. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const HEAP = new URL("../../../services/platform/process/heap-flags.ts", import.meta.url).href;
const folder = mkdtempSync(join(tmpdir(), "vigil-heap-"));
const program = join(folder, "program.mjs");
writeFileSync(
  program,
  `import { keepHeapSmall, trimHeap } from ${JSON.stringify(HEAP)};
keepHeapSmall();
trimHeap();
const { pid, execArgv, argv, env } = process;
const flags = execArgv.filter((flag) => flag.includes("space-size"));
console.log(JSON.stringify({ pid, flags, arguments: argv.slice(2), arenas: env.MALLOC_ARENA_MAX }));
`,
);
afterAll(() => rmSync(folder, { recursive: true }));

async function run(flags: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [...flags, program, "run", "--member=a b"], {
    env,
    stdio: ["ignore", "pipe", 2],
  });
  let out = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  const [code] = await once(child, "close");
  return {
    code,
    started: child.pid,
    lines: out.trim().split("\n"),
    report: JSON.parse(out.trim().split("\n")[0] ?? ""),
  };
}

test("a process restarts once, with the same id and arguments", async () => {
  const { code, started, lines, report } = await run([]);
  expect({ code, lines: lines.length }).toEqual({ code: 0, lines: 1 });
  expect(report.pid).toBe(started);
  expect(report.arguments).toEqual(["run", "--member=a b"]);
  expect(report.flags).toEqual(expect.arrayContaining(["--max-semi-space-size=8", "--min-semi-space-size=1"]));
  expect(report.arenas).toBe("1");
  expect(new Set(report.flags).size).toBe(report.flags.length);
});

test("heap sizes from the command line or NODE_OPTIONS are kept", async () => {
  expect((await run(["--max-old-space-size=300"])).report.flags).toEqual(["--max-old-space-size=300"]);
  expect((await run([], { NODE_OPTIONS: "--max-semi-space-size=4" })).report.flags).toEqual([]);
});

test("the operator's own setting of the allocator is kept", async () => {
  expect((await run([], { MALLOC_ARENA_MAX: "4" })).report.arenas).toBe("4");
});
