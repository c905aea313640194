/** Somebody with a stolen seed, as the simulated bus and the checks of what is said on it know them. */

/** The name under which they speak. */
export const THIEF = "thief";
