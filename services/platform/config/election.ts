/** The settings of leader election: whether they can be used together, and whether they apply. */
import { PROCESS_SETTINGS, type ProcessSettings } from "./settings.ts";
import { ConfigProblem, writeValue } from "./value.ts";

type ElectionSettings = Pick<
  ProcessSettings,
  | "leaderElect"
  | "leaderElectLeaseDurationMs"
  | "leaderElectRenewDeadlineMs"
  | "leaderElectRetryPeriodMs"
  | "leaderElectResourceName"
  | "leaderElectResourceNamespace"
  | "nats"
  | "shadow"
>;

/** How much longer than the retry period the renew deadline must be: client-go's JitterFactor. */
const JITTER_FACTOR = 1.2;
/** Leases of other components: flags copied from kube-controller-manager may name them. */
const FOREIGN_LEASES: readonly string[] = ["kube-controller-manager", "kube-scheduler", "cloud-controller-manager"];
const FLAG = `--${PROCESS_SETTINGS.leaderElect.flag}`;

/**
 * Whether a process takes part in an election. A process with NATS shares its work; one in shadow mode writes nothing.
 */
export function isElected({ leaderElect, nats, shadow }: ElectionSettings): boolean {
  return leaderElect && nats.length === 0 && !shadow;
}

/** The reasons why --leader-elect has no effect, one line each. */
export function electionRemarks({ leaderElect, nats, shadow }: ElectionSettings): readonly string[] {
  if (!leaderElect) return [];
  if (nats.length > 0) return [`${FLAG} has no effect with --nats: the processes share the work`];
  return shadow ? [`${FLAG} has no effect with --shadow: nothing is written`] : [];
}

/** Throws a ConfigProblem where an election could have two leaders or none (client-go's NewLeaderElector). */
export function checkElection(process: ElectionSettings): void {
  if (!isElected(process)) return;
  const { leaderElectLeaseDurationMs, leaderElectRenewDeadlineMs, leaderElectRetryPeriodMs } = process;
  const deadline = shown("leaderElectRenewDeadlineMs", leaderElectRenewDeadlineMs);
  if (leaderElectLeaseDurationMs <= leaderElectRenewDeadlineMs) {
    const duration = shown("leaderElectLeaseDurationMs", leaderElectLeaseDurationMs);
    throw new ConfigProblem(`${duration}: must be longer than ${deadline}`);
  }
  if (leaderElectRenewDeadlineMs <= JITTER_FACTOR * leaderElectRetryPeriodMs) {
    const period = shown("leaderElectRetryPeriodMs", leaderElectRetryPeriodMs);
    throw new ConfigProblem(`${deadline}: must be longer than ${JITTER_FACTOR} times ${period}`);
  }
  for (const name of ["leaderElectResourceName", "leaderElectResourceNamespace"] as const) {
    if (process[name] === "") throw new ConfigProblem(`--${PROCESS_SETTINGS[name].flag}=: must not be empty`);
  }
  const name = process.leaderElectResourceName;
  if (!FOREIGN_LEASES.includes(name)) return;
  const fix = "is the Lease of another component; leave the flag out";
  throw new ConfigProblem(`--${PROCESS_SETTINGS.leaderElectResourceName.flag}=${name}: ${fix}`);
}

function shown(
  name: "leaderElectLeaseDurationMs" | "leaderElectRenewDeadlineMs" | "leaderElectRetryPeriodMs",
  value: number,
): string {
  const setting = PROCESS_SETTINGS[name];
  return `--${setting.flag}=${writeValue(setting, value)}`;
}
