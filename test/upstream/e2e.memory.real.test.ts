/** Upstream's end-to-end specs with one process of Vigil, whose services talk in memory. */
import { describe } from "vitest";
import { E2E_PROGRAMS, runEndToEnd } from "./e2e.ts";
import { describeUpstream } from "./test-program.ts";

describe("Vigil in one process", () => {
  describeUpstream("e2e.test", E2E_PROGRAMS, () => runEndToEnd(() => [[]]));
});
