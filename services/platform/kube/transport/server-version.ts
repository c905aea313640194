/** Which version of Kubernetes the API server is: asked when it is needed, and kept for some minutes. */
import type { Clock, Wire } from "../../../../protocols/ports.ts";
import { parsed, recordOf, textOf } from "../../structures/json.ts";
import { type Answer, call } from "./call.ts";

/** Every authenticated client may read it. */
const VERSION = { method: "GET", path: "/version", headers: { accept: "application/json" }, body: null } as const;
const TIMEOUT_MS = 10_000;
/** An API server may be upgraded, and one that did not say may say it later, in milliseconds. */
const KEPT_MS = 600_000;
const UNKNOWN_KEPT_MS = 60_000;

/** The version of one API server. */
export class ServerVersion {
  readonly #io: { readonly wire: Wire; readonly clock: Clock };
  #minor: number | null = null;
  #keptUntilMs = Number.NEGATIVE_INFINITY;
  readonly #waiting: ((minor: number | null) => void)[] = [];

  constructor(io: { readonly wire: Wire; readonly clock: Clock }) {
    this.#io = io;
  }

  /** Calls `done` later with the minor version, 26 for 1.26; with null if the server does not say. */
  minor(done: (minor: number | null) => void): void {
    const { clock } = this.#io;
    if (clock.monotonicMs() < this.#keptUntilMs) clock.soon(() => done(this.#minor));
    else if (this.#waiting.push(done) === 1) call(this.#io, VERSION, TIMEOUT_MS, (answer) => this.#take(answer));
  }

  #take(answer: Answer): void {
    const minor = minorOf(answer);
    this.#minor = minor;
    this.#keptUntilMs = this.#io.clock.monotonicMs() + (minor === null ? UNKNOWN_KEPT_MS : KEPT_MS);
    for (const done of this.#waiting.splice(0)) done(minor);
  }
}

/** Providers add to the number: `27+`. Any other major version is unknown. */
function minorOf(answer: Answer): number | null {
  if (answer.kind === "lost" || answer.status !== 200) return null;
  const { major, minor } = recordOf(parsed(answer.text));
  const [digits] = /^\d+/.exec(textOf(minor) ?? "") ?? [];
  return major === "1" && digits !== undefined ? Number(digits) : null;
}
