#!/usr/bin/env node
/** Where the program starts: gives the command line to the verbs and ends with their exit code. */
import { runCommandLine } from "./cli/command-line.ts";
import { thisProcess } from "./runtime/process.ts";

process.exit(await runCommandLine(process.argv.slice(2), thisProcess()));
