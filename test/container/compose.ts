/** One project of compose.yaml under a name and ports of its own. It pulls no image from a registry. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { composeProgram, docker, excuseKeptNetwork, IMAGES } from "../support/docker.ts";
import { freePort } from "../support/nats-server.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Variables of compose.yaml for ports of this machine. */
const PORT_VARIABLES = ["VIGIL_PORT", "PROMETHEUS_PORT", "GRAFANA_PORT"] as const;
type PortVariable = (typeof PORT_VARIABLES)[number];

/** The project; `down` ends and removes all of it. */
export class ComposeProject {
  readonly #profile: string;
  readonly #ports: Readonly<Record<string, string>>;

  private constructor(profile: string, ports: Readonly<Record<string, string>>) {
    this.#profile = profile;
    this.#ports = ports;
  }

  /** Chooses the ports; nothing is started yet. */
  static async open(profile: string): Promise<ComposeProject> {
    const ports = PORT_VARIABLES.map(async (variable) => [variable, String(await freePort())] as const);
    return new ComposeProject(profile, Object.fromEntries(await Promise.all(ports)));
  }

  /** Runs compose and returns its output. Throws its error output when it fails. */
  run(...args: string[]): string {
    const { nats: NATS_IMAGE, prometheus: PROMETHEUS_IMAGE, vigil: VIGIL_IMAGE } = IMAGES;
    const env = { ...process.env, ...this.#ports, NATS_IMAGE, PROMETHEUS_IMAGE, VIGIL_IMAGE };
    const [program = "", ...words] = composeProgram() ?? [];
    const project = ["--project-name", `vigil-${this.#profile}-${process.pid}`, "--profile", this.#profile];
    const argv = [...words, ...project, ...args];
    const { status, stdout, stderr } = spawnSync(program, argv, { cwd: ROOT, env, encoding: "utf8" });
    if (status !== 0) throw new Error(`compose ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Gets a path at a port of the project. */
  get(port: PortVariable, path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#ports[port]}${path}`);
  }

  /** Whether a path is answered with success. */
  async answers(port: PortVariable, path: string): Promise<boolean> {
    return (await this.get(port, path).catch(() => null))?.ok === true;
  }

  /** The answer of a path. */
  async json(port: PortVariable, path: string): Promise<unknown> {
    return (await this.get(port, path)).json();
  }

  /** How a process of the project has ended. */
  exitCode(service: string): number {
    const id = this.run("ps", "--all", "--quiet", service).trim();
    return Number(docker("inspect", "--format={{.State.ExitCode}}", id).stdout);
  }

  down(): void {
    try {
      this.run("--profile=watch", "down", "--volumes");
    } catch (error) {
      excuseKeptNetwork(error);
    }
  }
}
