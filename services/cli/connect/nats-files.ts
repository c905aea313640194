/** The NATS flags: checks their files before the process waits for anything, and makes connection options from them. */

import { authenticatorOf, type NatsCredentialFiles } from "../../platform/bus/nats.credentials.ts";
import type { NatsOptions } from "../../platform/bus/nats.ts";
import type { HISTORY_SETTINGS, NATS_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import type { Host } from "../verb.ts";
import { certificateIn, pairIn, usableFile, warnIfExposed } from "./credential-files.ts";

type Reader = Pick<Host, "readFile" | "readableByAll" | "warn">;

type NatsValues = Readonly<ValuesOf<typeof NATS_SETTINGS>>;
/** A verb without a ledger has no history flags. */
type NatsFileValues = Readonly<ValuesOf<typeof NATS_SETTINGS> & Partial<ValuesOf<typeof HISTORY_SETTINGS>>>;

/** Reads every file that a NATS flag names. Throws a ConfigProblem for conflicting flags, a Failure for a bad file. */
export function checkNatsFiles(values: NatsFileValues, host: Reader): void {
  const { natsCreds, natsNkey, natsTlsCa, natsTlsCert, natsTlsKey, natsHistoryCreds, natsHistoryNkey } = values;
  if ((natsTlsCert === "") !== (natsTlsKey === "")) {
    const [given, missing] = natsTlsKey === "" ? ["cert", "key"] : ["key", "cert"];
    const where = `--nats-tls-${given}=${natsTlsCert || natsTlsKey}`;
    throw new ConfigProblem(`${where}: needs its pair; add --nats-tls-${missing}`);
  }
  checkCredentials("nats", natsCreds, natsNkey, host);
  checkCredentials("nats-history", natsHistoryCreds ?? "", natsHistoryNkey ?? "", host);
  warnIfExposed(host, "nats-tls-key", natsTlsKey);
  if (natsTlsCa !== "") certificateIn(host, "nats-tls-ca", natsTlsCa);
  if (natsTlsCert === "") return;
  pairIn(host, "nats-tls", natsTlsCert, natsTlsKey);
}

function checkCredentials(prefix: string, creds: string, nkey: string, host: Reader): void {
  if (creds !== "" && nkey !== "") {
    throw new ConfigProblem(`--${prefix}-nkey=${nkey}: conflicts with --${prefix}-creds; give only one of them`);
  }
  const seedIn = (flag: string, file: string, wanted: string, credentials: NatsCredentialFiles) =>
    file === "" || usableFile(host, flag, file, wanted, () => authenticatorOf(credentials));
  seedIn(`${prefix}-creds`, creds, "a JWT and its seed, as nsc writes them", { credsFile: creds });
  seedIn(`${prefix}-nkey`, nkey, "an NKey seed, one line that begins with SU", { nkeyFile: nkey });
  warnIfExposed(host, `${prefix}-creds`, creds);
  warnIfExposed(host, `${prefix}-nkey`, nkey);
}

/** The options of a NATS connection; omits flags that are not set. */
export function natsOptionsOf(values: NatsValues): Pick<NatsOptions, "servers" | "credsFile" | "nkeyFile" | "tls"> {
  const files = { caFile: values.natsTlsCa, certFile: values.natsTlsCert, keyFile: values.natsTlsKey };
  const tls = Object.fromEntries(Object.entries(files).filter(([, file]) => file !== ""));
  return {
    servers: values.nats,
    ...(values.natsCreds === "" ? {} : { credsFile: values.natsCreds }),
    ...(values.natsNkey === "" ? {} : { nkeyFile: values.natsNkey }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  };
}

/** The options for the account of the ledger's history; null where it is that of the bus. */
export function historyOptionsOf(
  values: NatsValues & Readonly<ValuesOf<typeof HISTORY_SETTINGS>>,
): ReturnType<typeof natsOptionsOf> | null {
  const { natsHistoryCreds, natsHistoryNkey } = values;
  if (natsHistoryCreds === "" && natsHistoryNkey === "") return null;
  return natsOptionsOf({ ...values, natsCreds: natsHistoryCreds, natsNkey: natsHistoryNkey });
}
