/** The bus of a process and its ports, whatever carries the messages. */
import type { Io, Transport } from "../../../protocols/ports.ts";
import type { LedgerStore } from "../../ledger/record/ledger.store.ts";
import type { MicroService } from "../../platform/bus/nats.micro.ts";
import type { ReaderTurns } from "../../platform/process/reader-turns.ts";

/** The bus of a process. */
export interface OpenBus {
  readonly transport: Transport;
  /** Whether other processes may be on it. */
  readonly isShared: boolean;
  /**
   * Opens the store of the ledger's history, after the process has joined its fleet; null without NATS or without a
   * ledger. `clusterUid` separates clusters of one name; null when it is not known.
   */
  openStore(clusterUid: string | null): LedgerStore | null;
  /** Resolves with the reason when the connection has ended for good without `close`. */
  readonly lost: Promise<string>;
  /** Answers requests of other clients until the bus is closed; does nothing without NATS. */
  serve(service: MicroService): void;
  /** Flushes and closes the bus. */
  close(): Promise<void>;
}

/** The ports of a bus. */
export interface BusIo extends Pick<Io, "clock" | "log" | "metrics"> {
  readonly member: string;
  /** The turns of all readers of the process. */
  readonly turns: ReaderTurns;
  /** Called with what the process waits for. */
  readonly waitsFor: (what: string) => void;
}
