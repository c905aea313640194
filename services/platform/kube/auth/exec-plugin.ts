/**
 * Runs the exec plugin of a kubeconfig's user and keeps what it gave until that ends. What a request carries of it is
 * decided in credentials.ts.
 */
import { type ExecFileException, execFile } from "node:child_process";
import { type JsonRecord, listOf, parsed, recordOf, textOf } from "../../structures/json.ts";

/** What a plugin gave: a token, or a certificate and its key in PEM. */
export interface PluginCredential {
  readonly token: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** Gives the last credential while it is valid, else a new one. Rejects with a one-line message. */
export type Plugin = () => Promise<PluginCredential>;

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

/** One plugin with its last answer; it runs once at a time, however many ask. */
export function execPlugin(options: ExecPluginOptions): Plugin {
  let answer: Promise<PluginCredential> | null = null;
  let endsAt = Number.POSITIVE_INFINITY;
  const run = async (): Promise<PluginCredential> => {
    const status = recordOf(recordOf(parsed(await outputOf(options))).status);
    const end = textOf(status.expirationTimestamp);
    if (end !== null) endsAt = Date.parse(end);
    const [token, cert, key] = [status.token, status.clientCertificateData, status.clientKeyData].map(textOf);
    return { token: token ?? null, cert: cert ?? null, key: key ?? null };
  };
  return () => {
    if (answer !== null && endsAt > options.wallMs()) return answer;
    endsAt = Number.POSITIVE_INFINITY;
    answer = run().catch((problem: unknown) => {
      answer = null;
      throw problem;
    });
    return answer;
  };
}

function outputOf(options: ExecPluginOptions): Promise<string> {
  const { exec, timeoutMs = TIMEOUT_MS } = options;
  const command = textOf(exec.command);
  if (command === null) return Promise.reject(new Error("the exec plugin of this user has no command"));
  const own = listOf(exec.env)
    .map(recordOf)
    .map(({ name, value }) => [textOf(name) ?? "", textOf(value) ?? ""]);
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
  const extension = listOf(cluster.extensions)
    .map(recordOf)
    .find(({ name }) => name === CLUSTER_EXTENSION);
  const info = {
    server,
    "tls-server-name": cluster["tls-server-name"],
    "insecure-skip-tls-verify": cluster["insecure-skip-tls-verify"],
    "certificate-authority-data": ca === null ? undefined : Buffer.from(ca).toString("base64"),
    "proxy-url": cluster["proxy-url"],
    config: extension?.extension,
  };
  const spec = { interactive: false, ...(exec.provideClusterInfo === true ? { cluster: info } : {}) };
  return JSON.stringify({ apiVersion: exec.apiVersion, kind: "ExecCredential", spec });
}
