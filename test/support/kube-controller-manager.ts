/** A real kube-controller-manager beside a test's API server: upstream's own behaviour, to compare with. */
import { hasController, hasFlag, kubeProgram } from "./kube-assets.ts";
import { freePort } from "./nats-server.ts";
import { ServerProcess } from "./server-process.ts";

/** The options of a controller manager. */
export interface ControllerManagerOptions {
  /** Path of a kubeconfig for an administrator. */
  readonly kubeconfig: string;
  /**
   * The controllers to run, such as `nodelifecycle`, which evicts in every version; `*` adds the default ones.
   */
  readonly controllers: readonly string[];
  /** More flags, by name without dashes: `{ "node-monitor-grace-period": "4s" }`. */
  readonly flags?: Readonly<Record<string, string>>;
}

/** A running controller manager. It needs some seconds to fill its caches. */
export interface ControllerManager {
  readonly pid: number;
  /** The address of its metrics, which need no token. */
  readonly metricsUrl: string;
  /** Ends it at once. */
  stop(): Promise<void>;
  pause(): void;
  resume(): void;
  /** The end of its log. */
  log(): string;
}

/** Starts it; it ends with the test process at the latest. */
export async function startControllerManager(options: ControllerManagerOptions): Promise<ControllerManager> {
  const { kubeconfig, controllers, flags = {} } = options;
  const port = await freePort();
  const manager = new ServerProcess(kubeProgram("kube-controller-manager"), [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${[...controllers, ...evictionOf(controllers)].join(",")}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--authorization-always-allow-paths=/healthz,/metrics",
    // Versions before 1.24 also listen without TLS.
    ...(hasFlag("kube-controller-manager", "port") ? ["--port=0"] : []),
    "--leader-elect=false",
    // No controller here would create service accounts with tokens.
    "--use-service-account-credentials=false",
    ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
  ]);
  manager.start();
  const { pid } = manager;
  if (pid === undefined) throw new Error(`the kube-controller-manager did not start: ${manager.log()}`);
  return {
    pid,
    metricsUrl: `https://127.0.0.1:${port}/metrics`,
    stop: () => manager.end("SIGKILL"),
    pause: () => manager.pause(),
    resume: () => manager.resume(),
    log: () => manager.log(),
  };
}

/** Since 1.29 a controller of its own does the evictions of `nodelifecycle`. */
function evictionOf(controllers: readonly string[]): readonly string[] {
  const name = "taint-eviction-controller";
  return controllers.includes("nodelifecycle") && hasController(name) ? [name] : [];
}
