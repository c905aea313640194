/** The services of a simulated process without node policies: one with policies runs the policy service too. */
import { SERVICE_NAMES, type ServiceName } from "../../protocols/ports.ts";

/** Every service but that of policies. */
export const SIMULATED_SERVICES: readonly ServiceName[] = SERVICE_NAMES.filter((name) => name !== "policy");
