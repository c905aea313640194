/** How a command line ends. */

/** Exit codes: done; asked properly but it failed; not asked properly. */
export const ExitCode = { ok: 0, failed: 1, usage: 2 } as const;
