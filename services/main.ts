/** The program, which vigil.js starts: runs the command line and exits with its code. */
import { keepHeapSmall } from "./platform/process/heap-flags.ts";

if (process.argv[2] === "run") keepHeapSmall();
const { runCommandLine } = await import("./cli/command-line.ts");
const { endProcess, thisProcess } = await import("./platform/process/process.ts");

endProcess(await runCommandLine(process.argv.slice(2), thisProcess()));
