/** The machine's random numbers. Not for secrets. */
import type { Random } from "../../../protocols/ports.ts";

/** Numbers from 0 to below 1. */
export const systemRandom: Random = () => Math.random();
