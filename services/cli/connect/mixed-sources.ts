/** The flags of a verb that reads from a console or listens to NATS: each source has its own, and only one is used. */
import { NATS_SETTINGS } from "../../platform/config/settings.ts";
import { ConfigProblem, type ValuesOf } from "../../platform/config/value.ts";
import { CONSOLE_SETTINGS, type ConsoleAddress } from "./console-client.ts";

type Values = ConsoleAddress & Readonly<ValuesOf<typeof NATS_SETTINGS>>;

/** Throws a ConfigProblem for a flag of the source that is not used. NATS is used when --nats names it. */
export function refuseMixedSources(verb: string, values: Values): void {
  const isNats = values.nats.length > 0;
  for (const [name, { flag, standard }] of Object.entries(isNats ? CONSOLE_SETTINGS : NATS_SETTINGS)) {
    const value = values[name as keyof Values];
    if (String(value) === String(standard)) continue;
    const why = isNats ? "conflicts with --nats; give only one of them" : "has no effect without --nats";
    throw new ConfigProblem(`${verb} --${flag}=${String(value)}: ${why}`);
  }
}
