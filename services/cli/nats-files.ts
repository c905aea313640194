/** Looks at the files that prove to NATS who we are, before anything is waited for. It connects to nothing. */
import { authenticatorOf, type NatsCredentialFiles } from "../runtime/bus.nats.credentials.ts";
import type { NATS_SETTINGS } from "../runtime/config.settings.ts";
import { ConfigProblem, type ValuesOf } from "../runtime/config.value.ts";
import { certificateIn, checkPair, usableFile, warnIfExposed } from "./credential-files.ts";
import type { Host } from "./verb.ts";

type Reader = Pick<Host, "readFile" | "readableByAll" | "warn">;

/**
 * Reads every file that the flags about NATS name. Throws a ConfigProblem when they do not go together, a Failure for a
 * file that is of no use: NATS would only be found silent, for ever.
 */
export function checkNatsFiles(values: Readonly<ValuesOf<typeof NATS_SETTINGS>>, host: Reader): void {
  const { natsCreds, natsNkey, natsTlsCa, natsTlsCert, natsTlsKey } = values;
  if (natsCreds !== "" && natsNkey !== "") {
    throw new ConfigProblem(`--nats-nkey=${natsNkey}: --nats-creds is given too; leave one of them out`);
  }
  if ((natsTlsCert === "") !== (natsTlsKey === "")) {
    const [given, missing] = natsTlsKey === "" ? ["cert", "key"] : ["key", "cert"];
    const where = `--nats-tls-${given}=${natsTlsCert || natsTlsKey}`;
    throw new ConfigProblem(`${where}: is of no use alone; name the other with --nats-tls-${missing}`);
  }
  const seedIn = (flag: string, file: string, wanted: string, credentials: NatsCredentialFiles) =>
    file === "" || usableFile(host, flag, file, wanted, () => authenticatorOf(credentials));
  seedIn("nats-creds", natsCreds, "a JWT and its seed, as nsc writes them", { credsFile: natsCreds });
  seedIn("nats-nkey", natsNkey, "an NKey seed, one line that begins with SU", { nkeyFile: natsNkey });
  warnIfExposed(host, "nats-creds", natsCreds);
  warnIfExposed(host, "nats-nkey", natsNkey);
  warnIfExposed(host, "nats-tls-key", natsTlsKey);
  if (natsTlsCa !== "") certificateIn(host, "nats-tls-ca", natsTlsCa);
  if (natsTlsCert === "") return;
  checkPair(host, "nats-tls", natsTlsCert, natsTlsKey);
}
