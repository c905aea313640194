/**
 * Runs the exec plugin of a kubeconfig's user and keeps what it gave until that ends. What a request carries of it is
 * decided in kube.credentials.ts.
 */
import { type ExecFileException, execFile } from "node:child_process";
import { type JsonRecord, listOf, parsed, recordOf, textOf } from "../../structures/json.ts";

/** What a plugin gave: a token, or a certificate and its key in PEM. */
export interface PluginCredential {
  readonly token: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** What a plugin is run for. */
export interface ExecPluginOptions {
  /** `exec` of the user. */
  readonly exec: JsonRecord;
  readonly server: string;
  readonly cluster: JsonRecord;
  /** The authority that vouches for the server, in PEM; null for those that the machine trusts. */
  readonly ca: string | null;
  /** Epoch milliseconds. */
  readonly wallMs: () => number;
  /** How long a run may take, in milliseconds; by default a minute. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;
/** Where a cluster entry keeps what is meant for its plugin alone. */
const CLUSTER_EXTENSION = "client.authentication.k8s.io/exec";

/** One plugin with its last answer. */
export class ExecPlugin {
  readonly #options: ExecPluginOptions;
  #given: { readonly credential: PluginCredential; readonly endsAt: number } | null = null;
  #running: Promise<PluginCredential> | null = null;

  constructor(options: ExecPluginOptions) {
    this.#options = options;
  }

  /** The last answer while it is valid, else that of one new run for all who ask meanwhile. Rejects in one line. */
  credential(): Promise<PluginCredential> {
    const given = this.#given;
    if (given !== null && given.endsAt > this.#options.wallMs()) return Promise.resolve(given.credential);
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #run(): Promise<PluginCredential> {
    const status = recordOf(recordOf(parsed(await outputOf(this.#options))).status);
    const end = textOf(status.expirationTimestamp);
    const credential = {
      token: textOf(status.token),
      cert: textOf(status.clientCertificateData),
      key: textOf(status.clientKeyData),
    };
    this.#given = { credential, endsAt: end === null ? Number.POSITIVE_INFINITY : Date.parse(end) };
    return credential;
  }
}

function outputOf(options: ExecPluginOptions): Promise<string> {
  const { exec, timeoutMs = TIMEOUT_MS } = options;
  const command = textOf(exec.command);
  if (command === null) return Promise.reject(new Error("the exec plugin of this user has no command"));
  const own = listOf(exec.env).map((raw): [string, string] => {
    const { name, value } = recordOf(raw);
    return [textOf(name) ?? "", textOf(value) ?? ""];
  });
  const env = { ...process.env, KUBERNETES_EXEC_INFO: infoOf(options), ...Object.fromEntries(own) };
  return new Promise((resolve, reject) => {
    // One that hangs is killed, or there would be one process more each time we ask.
    const limits = { timeout: timeoutMs, killSignal: "SIGKILL", encoding: "utf8" } as const;
    const plugin = execFile(command, listOf(exec.args).map(String), { env, ...limits }, (error, output, complaint) => {
      if (error === null) resolve(output);
      else if (error.killed === true) reject(new Error(`exec plugin ${command}: no answer within ${timeoutMs} ms`));
      else reject(new Error(faultOf(command, error, complaint)));
    });
    // Nobody is there to answer what it may ask.
    plugin.stdin?.end();
  });
}

/** The first line of what it complained of; many begin with an empty one. Its arguments may be secret. */
function faultOf(command: string, { code, signal, message }: ExecFileException, complaint: string): string {
  const [line = ""] = complaint.trim().split("\n");
  if (line !== "") return `exec plugin ${command}: ${line}`;
  return typeof code === "string" ? message : `exec plugin ${command}: it ended with ${code ?? signal}`;
}

/** What a plugin is told of what is asked of it (ExecCredential), and of the cluster where it wants to know. */
function infoOf({ exec, server, cluster, ca }: ExecPluginOptions): string {
  const { "tls-server-name": name, "insecure-skip-tls-verify": insecure, "proxy-url": proxy, extensions } = cluster;
  const ours = listOf(extensions)
    .map(recordOf)
    .find((extension) => extension.name === CLUSTER_EXTENSION);
  const told = {
    server,
    "tls-server-name": name,
    "insecure-skip-tls-verify": insecure,
    "certificate-authority-data": ca === null ? undefined : Buffer.from(ca).toString("base64"),
    "proxy-url": proxy,
    config: ours?.extension,
  };
  const spec = { interactive: false, ...(exec.provideClusterInfo === true ? { cluster: told } : {}) };
  return JSON.stringify({ apiVersion: exec.apiVersion, kind: "ExecCredential", spec });
}
