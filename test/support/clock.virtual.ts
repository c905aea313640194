/** The virtual clock of tests. It starts at 2026-01-01T00:00:00Z. */
import { VirtualClock as SandboxClock } from "../../services/sandbox/virtual/virtual-clock.ts";

const WALL_START_MS = Date.UTC(2026, 0, 1);

/** Time that passes only when a test advances it. */
export class VirtualClock extends SandboxClock {
  constructor({ wallMs = WALL_START_MS }: { wallMs?: number } = {}) {
    super({ wallMs });
  }
}
