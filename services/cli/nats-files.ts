/** Looks at the files that prove to NATS who we are, before anything is waited for. It connects to nothing. */
import { authenticatorOf, type NatsCredentialFiles } from "../platform/bus/nats.credentials.ts";
import type { HISTORY_SETTINGS, NATS_SETTINGS } from "../platform/config/settings.ts";
import { ConfigProblem, type ValuesOf } from "../platform/config/value.ts";
import { certificateIn, checkPair, usableFile, warnIfExposed } from "./credential-files.ts";
import type { Host } from "./verb.ts";

type Reader = Pick<Host, "readFile" | "readableByAll" | "warn">;

/** The flags about NATS; a verb without a ledger has none about its history. */
type NatsFileValues = Readonly<ValuesOf<typeof NATS_SETTINGS> & Partial<ValuesOf<typeof HISTORY_SETTINGS>>>;

/**
 * Reads every file that the flags about NATS name. Throws a ConfigProblem when they do not go together, a Failure for a
 * file that is of no use: NATS would only be found silent, for ever.
 */
export function checkNatsFiles(values: NatsFileValues, host: Reader): void {
  const { natsCreds, natsNkey, natsTlsCa, natsTlsCert, natsTlsKey, natsHistoryCreds, natsHistoryNkey } = values;
  if ((natsTlsCert === "") !== (natsTlsKey === "")) {
    const [given, missing] = natsTlsKey === "" ? ["cert", "key"] : ["key", "cert"];
    const where = `--nats-tls-${given}=${natsTlsCert || natsTlsKey}`;
    throw new ConfigProblem(`${where}: is of no use alone; name the other with --nats-tls-${missing}`);
  }
  checkCredentials("nats", natsCreds, natsNkey, host);
  checkCredentials("nats-history", natsHistoryCreds ?? "", natsHistoryNkey ?? "", host);
  warnIfExposed(host, "nats-tls-key", natsTlsKey);
  if (natsTlsCa !== "") certificateIn(host, "nats-tls-ca", natsTlsCa);
  if (natsTlsCert === "") return;
  checkPair(host, "nats-tls", natsTlsCert, natsTlsKey);
}

/** Reads the file of `--PREFIX-creds` or `--PREFIX-nkey`. */
function checkCredentials(prefix: string, creds: string, nkey: string, host: Reader): void {
  if (creds !== "" && nkey !== "") {
    throw new ConfigProblem(`--${prefix}-nkey=${nkey}: --${prefix}-creds is given too; leave one of them out`);
  }
  const seedIn = (flag: string, file: string, wanted: string, credentials: NatsCredentialFiles) =>
    file === "" || usableFile(host, flag, file, wanted, () => authenticatorOf(credentials));
  seedIn(`${prefix}-creds`, creds, "a JWT and its seed, as nsc writes them", { credsFile: creds });
  seedIn(`${prefix}-nkey`, nkey, "an NKey seed, one line that begins with SU", { nkeyFile: nkey });
  warnIfExposed(host, `${prefix}-creds`, creds);
  warnIfExposed(host, `${prefix}-nkey`, nkey);
}
