/** Which version of Kubernetes the API server is: read once for a command, or kept for some minutes. */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { parsed, recordOf, textOf } from "../../../structures/json.ts";
import { type Answer, call } from "./call.ts";

/** A version of Kubernetes, such as 1.28. */
export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
}

interface VersionIo {
  readonly wire: Wire;
  readonly clock: Clock;
}

/** Every authenticated client may read it. */
const VERSION = { method: "GET", path: "/version", headers: { accept: "application/json" }, body: null } as const;
const TIMEOUT_MS = 10_000;
/** An API server may be upgraded, and one that did not report its version may do so later, in milliseconds. */
const KEPT_MS = 600_000;
const UNKNOWN_KEPT_MS = 60_000;

/** The version of the API server, which needs no rights; null where the server does not report it. */
export function serverVersion(io: VersionIo): Promise<ServerVersion | null> {
  return new Promise((resolve) => {
    call(io, VERSION, TIMEOUT_MS, (answer) => resolve(versionIn(answer)));
  });
}

/** The minor version of one API server, kept for some minutes. */
export class KeptServerVersion {
  readonly #io: VersionIo;
  #minor: number | null = null;
  #keptUntilMs = Number.NEGATIVE_INFINITY;
  readonly #waiting: ((minor: number | null) => void)[] = [];

  constructor(io: VersionIo) {
    this.#io = io;
  }

  /** Calls `done` later with the minor version, 26 for 1.26; with null if the server does not report it. */
  minor(done: (minor: number | null) => void): void {
    const { clock } = this.#io;
    if (clock.monotonicMs() < this.#keptUntilMs) clock.soon(() => done(this.#minor));
    else if (this.#waiting.push(done) === 1) call(this.#io, VERSION, TIMEOUT_MS, (answer) => this.#onAnswer(answer));
  }

  #onAnswer(answer: Answer): void {
    const version = versionIn(answer);
    this.#minor = version?.major === 1 ? version.minor : null;
    this.#keptUntilMs = this.#io.clock.monotonicMs() + (this.#minor === null ? UNKNOWN_KEPT_MS : KEPT_MS);
    for (const done of this.#waiting.splice(0)) done(this.#minor);
  }
}

/** The version in an answer; null for none. Providers write suffixes, as in the minor version `28+`. */
function versionIn(answer: Answer): ServerVersion | null {
  if (answer.kind === "lost" || answer.status !== 200) return null;
  const { major, minor } = recordOf(parsed(answer.text));
  const [first, second] = [major, minor].map((part) => Number.parseInt(textOf(part) ?? "", 10));
  if (first === undefined || second === undefined || Number.isNaN(first + second)) return null;
  return { major: first, minor: second };
}
