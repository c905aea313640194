/** The flags about NATS as the options of a connection. */
import type { NatsOptions } from "../runtime/bus.nats.ts";
import type { NATS_SETTINGS } from "../runtime/config.settings.ts";
import type { ValuesOf } from "../runtime/config.value.ts";

/** Servers and credentials of a connection; what was not given is left out. */
export function natsOptionsOf(
  values: Readonly<ValuesOf<typeof NATS_SETTINGS>>,
): Pick<NatsOptions, "servers" | "credsFile" | "nkeyFile" | "tls"> {
  const files = { caFile: values.natsTlsCa, certFile: values.natsTlsCert, keyFile: values.natsTlsKey };
  const tls = Object.fromEntries(Object.entries(files).filter(([, file]) => file !== ""));
  return {
    servers: values.nats,
    ...(values.natsCreds === "" ? {} : { credsFile: values.natsCreds }),
    ...(values.natsNkey === "" ? {} : { nkeyFile: values.natsNkey }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
  };
}
