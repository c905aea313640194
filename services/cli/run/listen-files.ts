/** The files that guard a console: its certificate and its token. They are read again, because both are renewed. */
import type { Clock } from "../../../protocols/ports.ts";
import type { ListenTls } from "../../console/console.http.ts";
import type { ProcessSettings } from "../../platform/config/settings.ts";
import { checkPair, tokenIn, warnIfExposed } from "../credential-files.ts";
import type { Host } from "../verb.ts";

/** The settings that name such files. */
export type ListenFiles = Pick<ProcessSettings, "listenTlsCert" | "listenTlsKey" | "listenTokenFile">;

/** What a console is guarded with; each gives what its files hold by now. Null where no file is named. */
export interface ListenGuard {
  readonly tls: (() => ListenTls) | null;
  readonly token: (() => string) | null;
}

/** How old what was read may be; a kubelet renews mounted secrets about as often. */
const FRESH_MS = 60_000;

/** Reads the files for the first time. Throws a Failure of one line for one that is of no use. */
export function listenGuard(
  { listenTlsCert, listenTlsKey, listenTokenFile }: ListenFiles,
  host: Pick<Host, "readFile" | "readableByAll" | "warn">,
  clock: Clock,
): ListenGuard {
  warnIfExposed(host, "listen-tls-key", listenTlsKey);
  warnIfExposed(host, "listen-token-file", listenTokenFile);
  return {
    tls: listenTlsCert === "" ? null : renewed(clock, () => tlsIn(listenTlsCert, listenTlsKey, host)),
    token: listenTokenFile === "" ? null : renewed(clock, () => tokenIn("listen-token-file", listenTokenFile, host)),
  };
}

function tlsIn(certFile: string, keyFile: string, host: Pick<Host, "readFile">): ListenTls {
  checkPair(host, "listen-tls", certFile, keyFile);
  return { cert: host.readFile(certFile), key: host.readFile(keyFile) };
}

/** While the files cannot be read or used again, what they last held counts. */
function renewed<V>(clock: Clock, read: () => V): () => V {
  let value = read();
  let readAtMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - readAtMs < FRESH_MS) return value;
    readAtMs = clock.monotonicMs();
    try {
      value = read();
    } catch {
      // Half written, or gone for the moment: the next reading is a minute away.
    }
    return value;
  };
}
