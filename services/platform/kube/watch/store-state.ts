/**
 * What a reader requests from an API server besides objects: whether it serves a resource, and how new its store is.
 */
import type { Clock, Random, Timer, Wire } from "../../../../protocols/ports.ts";
import { type JsonRecord, listOf, parsed, recordOf, textOf } from "../../../structures/json.ts";
import { call } from "../transport/call.ts";
import { refusalOf } from "../transport/outcome.policy.ts";
import type { StreamEnd } from "./stream.ts";
import { type ReaderEnd, readerPauseMs } from "./watch-reader.policy.ts";

/** The server gave no answer, and why. */
interface Unknown {
  readonly kind: "unknown";
  readonly end: Extract<StreamEnd, { readonly kind: "refused" | "failed" }>;
}

/** Whether a resource is served. */
export type Discovered = { readonly kind: "served" } | { readonly kind: "absent" } | Unknown;

/** The version of a store. */
export type StoreVersion = { readonly kind: "known"; readonly version: string } | Unknown;

/** A server answers either question as soon as any small list. */
const TIMEOUT_MS = 10_000;
const NOT_FOUND = 404;

/**
 * Requests the resources of a group and version, and calls `done` once, never within the call. Every authenticated
 * client may read the discovery documents, so this needs no rights.
 */
export function isServed(
  io: { readonly wire: Wire; readonly clock: Clock },
  { path, plural }: { readonly path: string; readonly plural: string },
  done: (discovered: Discovered) => void,
): void {
  const found = ({ resources }: JsonRecord): Discovered => {
    return { kind: listOf(resources).some((each) => recordOf(each).name === plural) ? "served" : "absent" };
  };
  get<Discovered>(
    io,
    path,
    (status, document) => (status === NOT_FOUND ? { kind: "absent" } : document && found(document)),
    done,
  );
}

/** Reads the present version of a collection, and calls `done` once, never within the call. */
export function readStoreVersion(
  io: { readonly wire: Wire; readonly clock: Clock },
  { path, selectors }: { readonly path: string; readonly selectors: Readonly<Record<string, string>> },
  done: (version: StoreVersion) => void,
): void {
  // Without a resourceVersion the API server answers with the newest state of its store, which no cache does.
  const query = new URLSearchParams({ ...selectors, limit: "1" }).toString();
  const known = (document: JsonRecord): StoreVersion | null => {
    const version = textOf(recordOf(document.metadata).resourceVersion);
    return version === null ? null : { kind: "known", version };
  };
  get<StoreVersion>(io, `${path}?${query}`, (_status, document) => document && known(document), done);
}

/**
 * One GET; `understood` receives the document of a success, else null, and returns null for a document that it cannot
 * use.
 */
function get<A>(
  io: { readonly wire: Wire; readonly clock: Clock },
  path: string,
  understood: (status: number, document: JsonRecord | null) => A | null,
  done: (found: A | Unknown) => void,
): void {
  call(io, { method: "GET", path, headers: { accept: "application/json" }, body: null }, TIMEOUT_MS, (answer) => {
    if (answer.kind === "lost") {
      const { message, timedOut } = answer;
      done({ kind: "unknown", end: { kind: "failed", message, timedOut } });
      return;
    }
    const { status, text } = answer;
    const found = understood(status, status >= 200 && status < 300 ? recordOf(parsed(text)) : null);
    done(found ?? { kind: "unknown", end: { kind: "refused", refusal: refusalOf(answer) } });
  });
}

/** What a check needs: its ports, and the collection whose version it reads. */
export interface StoreCheckIo {
  readonly wire: Wire;
  readonly clock: Clock;
  readonly random: Random;
  readonly path: string;
  readonly selectors: Readonly<Record<string, string>>;
}

/** Receives the version, once; each failed read before it is reported. */
export interface StoreCheckSink {
  known(version: string): void;
  failed(end: ReaderEnd): void;
}

/** One check, from its start until its answer or its stop. */
export class StoreCheck {
  readonly #io: StoreCheckIo;
  readonly #sink: StoreCheckSink;
  #failures = 0;
  #pause: Timer | null = null;
  #isOpen = true;

  constructor(io: StoreCheckIo, sink: StoreCheckSink) {
    this.#io = io;
    this.#sink = sink;
    this.#read();
  }

  /** Reports nothing from now on. */
  stop(): void {
    this.#isOpen = false;
    this.#pause?.cancel();
  }

  #read(): void {
    readStoreVersion(this.#io, this.#io, (answer) => {
      if (!this.#isOpen) return;
      if (answer.kind === "known") {
        this.stop();
        this.#sink.known(answer.version);
        return;
      }
      this.#failures += 1;
      const pauseMs = readerPauseMs(answer.end, this.#failures, this.#io.random);
      this.#pause = this.#io.clock.after(pauseMs, () => this.#read());
      this.#sink.failed(answer.end);
    });
  }
}
