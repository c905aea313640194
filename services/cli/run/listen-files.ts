/** The certificate and the token of a console. Both are read again after a minute, because their files are renewed. */
import type { Clock } from "../../../protocols/ports.ts";
import type { ListenTls } from "../../console/console.http.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { pairIn, tokenIn, warnIfExposed } from "../connect/credential-files.ts";
import type { Host } from "../verb.ts";

/** The settings that name these files. */
export type ListenFiles = Pick<ProcessSettings, "listenTlsCert" | "listenTlsKey" | "listenTokenFile">;

/** The current certificate and token of a console; null where no file is named. */
export interface ListenGuard {
  readonly tls: (() => ListenTls) | null;
  readonly token: (() => string) | null;
}

/** Longest time between two reads; a kubelet renews mounted secrets about as often. */
const FRESH_MS = 60_000;

/** Reads the files. Throws a Failure of one line for an unusable one. */
export function listenGuard(
  { listenTlsCert, listenTlsKey, listenTokenFile }: ListenFiles,
  host: Pick<Host, "readFile" | "readableByAll" | "warn">,
  clock: Clock,
): ListenGuard {
  warnIfExposed(host, "listen-tls-key", listenTlsKey);
  warnIfExposed(host, "listen-token-file", listenTokenFile);
  return {
    tls: listenTlsCert === "" ? null : renewed(clock, () => pairIn(host, "listen-tls", listenTlsCert, listenTlsKey)),
    token: listenTokenFile === "" ? null : renewed(clock, () => tokenIn("listen-token-file", listenTokenFile, host)),
  };
}

/** Keeps the last usable content while the files cannot be read. */
function renewed<V>(clock: Clock, read: () => V): () => V {
  let value = read();
  let readAtMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - readAtMs < FRESH_MS) return value;
    readAtMs = clock.monotonicMs();
    try {
      value = read();
    } catch {
      // The file is half written or missing for a moment; the next read is a minute away.
    }
    return value;
  };
}
