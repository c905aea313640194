/** Puts the console of a process on its address, when it has one. */
import packageJson from "../../../package.json" with { type: "json" };
import { type RunningConsole, startConsole } from "../../console/console.http.ts";
import { parseAddress } from "../../runtime/config.address.ts";
import type { ProcessSettings } from "../../runtime/config.settings.ts";
import { busOf, type Controller, type ControllerParts } from "../controller.ts";
import { Failure, type Host } from "../verb.ts";

/**
 * Serves probes, metrics and the dashboard on the address that a flag was given; null without one. Throws a Failure
 * when it cannot be had.
 */
export async function openConsole(
  { listen, shadow, flag = "listen" }: Pick<ProcessSettings, "listen" | "shadow"> & { readonly flag?: string },
  parts: ControllerParts,
  { ledger }: Controller,
  { stopped }: Host,
): Promise<RunningConsole | null> {
  if (listen === "") return null;
  const { host, port } = parseAddress(listen, flag);
  const { cluster, member, services, metrics, profile, clock, log } = parts;
  const running = await startConsole({
    host,
    port,
    clock,
    bus: busOf(parts, "console"),
    profile,
    log,
    about: { cluster, member, services, shadow, version: packageJson.version },
    ledger,
    metricsText: () => metrics.text(),
    ownChecks: () => [{ name: "running", problem: stopped.aborted ? "the process is ending" : null }],
  }).catch((error: Error) => {
    throw new Failure(`--${flag}=${listen}: ${error.message}`);
  });
  log.info("console is listening", { url: running.url });
  return running;
}
