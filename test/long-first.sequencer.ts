/**
 * The order of test files: the longest first. Vitest starts with the largest files, and a small one that waits for
 * minutes would be the last to end, alone.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The suites that take more than two minutes on two cores. Those of the journeys mostly wait. */
const LONG = [
  "sim/sim.slow",
  "upstream/e2e.fleet.real",
  "upstream/e2e.memory.real",
  "journey/rates.split.real",
  "journey/rates.real",
  "journey/fleet.standstill.real",
  "journey/fleet.api-cut-kube.real",
  "journey/fleet.api-cut.real",
  "journey/stranger.real",
  "journey/beside.real",
  "deploy/npm-package.real",
  "deploy/rights.real",
].map((name) => `/test/${name}.test.ts`);

/** Vitest's own order, after the long suites. */
export default class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.some((end) => moduleId.endsWith(end));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
