/** The name of an attacker with a stolen seed, for the simulated bus and the message checks. */

/**
 * The name under which the attacker publishes. The value stays: owners of shards, and so traces of seeds, depend on it.
 */
export const ATTACKER = "attacker";
