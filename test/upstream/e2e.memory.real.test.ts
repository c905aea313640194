/** Upstream's end-to-end specs with one process of Vigil, whose services talk in memory. */
import { E2E_PROGRAMS, runEndToEnd } from "./e2e.ts";
import { describeUpstream } from "./test-program.ts";

describeUpstream("e2e.test, Vigil in one process", E2E_PROGRAMS, () => runEndToEnd([[]]));
