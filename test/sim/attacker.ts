/** The name of a thief with a stolen seed, for the simulated bus and the message checks. */

/** The name under which the thief publishes. */
export const ATTACKER = "thief";
