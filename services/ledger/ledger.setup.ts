/** What a ledger and its parts are started with. */
import type { Io, Log } from "../../protocols/ports.ts";
import type { ZoneLabel } from "../domain/zone-key.ts";
import type { LedgerStore } from "./record/ledger.store.ts";

/** What a ledger is started with besides its ports. */
export interface LedgerOptions {
  /** Where its history outlives the process; null for nowhere. */
  readonly store?: LedgerStore | null;
  /** Whether Vigil runs in shadow mode. */
  readonly isShadow?: boolean;
  /** How metrics name a zone; readable by default. */
  readonly zoneLabel?: ZoneLabel;
  /** Where the owner of a shard logs verdicts, taints, drains, evictions and changes of zones; null for nowhere. */
  readonly activityLog?: Log | null;
  /**
   * In a cluster of up to this many nodes it always knows the last heartbeats of other members' nodes too, in a larger
   * one while a client requests nodes; 0 by default.
   */
  readonly followedNodesMax?: number;
}

/** What the parts of a ledger are started with. */
export interface LedgerSetup extends Required<LedgerOptions> {
  readonly io: Io;
  /** When the ledger started, epoch milliseconds. */
  readonly startedAt: number;
  /** Whether other controllers act beside Vigil, so that their treatment of pods is compared too. */
  readonly comparesPods: boolean;
}

/** The setup of a ledger that starts now. */
export function setupOf(io: Io, options: LedgerOptions): LedgerSetup {
  const { store = null, isShadow = false, zoneLabel = "readable", activityLog = null, followedNodesMax = 0 } = options;
  const comparesPods = isShadow || io.profile.upstream === "beside";
  return { io, startedAt: io.clock.wallMs(), comparesPods, store, isShadow, zoneLabel, activityLog, followedNodesMax };
}
