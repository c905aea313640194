/** The flags about NATS as the options of a connection. */
import type { NatsOptions } from "../platform/bus/nats.ts";
import type { HISTORY_SETTINGS, NATS_SETTINGS } from "../platform/config/settings.ts";
import type { ValuesOf } from "../platform/config/value.ts";

type NatsValues = Readonly<ValuesOf<typeof NATS_SETTINGS>>;

/** Servers and credentials of a connection; what was not given is left out. */
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

/** The same for the account that keeps the ledger's history; null where it is that of the bus. */
export function historyOptionsOf(
  values: NatsValues & Readonly<ValuesOf<typeof HISTORY_SETTINGS>>,
): ReturnType<typeof natsOptionsOf> | null {
  const { natsHistoryCreds, natsHistoryNkey } = values;
  if (natsHistoryCreds === "" && natsHistoryNkey === "") return null;
  return natsOptionsOf({ ...values, natsCreds: natsHistoryCreds, natsNkey: natsHistoryNkey });
}
