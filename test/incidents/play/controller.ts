/** The controllers that play an incident, each a process with the same flags. */
import { startControllerManager } from "../../support/kube-controller-manager.ts";
import { VigilProcess } from "../../support/vigil-process.ts";

/** Upstream's and Vigil. */
export const CONTROLLERS = ["kube-controller-manager", "vigil"] as const;
/** One of them. */
export type ControllerName = (typeof CONTROLLERS)[number];

/** The periods of a played cluster, in seconds. */
export interface Periods {
  /** How long a node may be silent: longer than a kubelet here takes to post its status after an outage. */
  readonly graceSeconds: number;
  /** How often a kubelet renews its lease. */
  readonly leaseSeconds: number;
}

/** Shorter than real ones, so that an incident takes a minute. */
export const SHORT_PERIODS: Periods = { graceSeconds: 12, leaseSeconds: 3 };
/** Upstream's defaults, which hundreds of nodes on one machine need. */
export const REAL_PERIODS: Periods = { graceSeconds: 40, leaseSeconds: 10 };

/** Everything else is the controller's default; these are upstream's names. */
const flagsOf = ({ graceSeconds }: Periods): Readonly<Record<string, string>> => ({
  "node-monitor-period": "1s",
  "node-monitor-grace-period": `${graceSeconds}s`,
  "node-startup-grace-period": `${graceSeconds}s`,
  "node-eviction-rate": "1",
});

/** A process of a controller. */
export interface RunningController {
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  log(): string;
}

/** Starts one, with flags beside the usual ones. */
export async function startController(
  name: ControllerName,
  kubeconfig: string,
  { periods, flags: changed }: { readonly periods: Periods; readonly flags: Readonly<Record<string, string>> },
): Promise<RunningController> {
  const flags = { ...flagsOf(periods), ...changed };
  if (name === "kube-controller-manager") {
    const manager = await startControllerManager({ kubeconfig, controllers: ["nodelifecycle"], flags });
    const [pause, resume, log] = [() => manager.pause(), () => manager.resume(), () => manager.log()];
    return { kill: () => manager.stop(), pause, resume, log };
  }
  const words = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  const vigil = new VigilProcess(["run", "--log-format=json", `--kubeconfig=${kubeconfig}`, ...words]);
  const kill = async () => {
    vigil.signal("SIGKILL");
    await vigil.exited();
  };
  return { kill, pause: () => vigil.signal("SIGSTOP"), resume: () => vigil.signal("SIGCONT"), log: () => vigil.err };
}
