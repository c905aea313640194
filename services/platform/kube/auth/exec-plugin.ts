/** Runs the exec plugin of a kubeconfig user and caches its credential until that expires. */
import { type ExecFileException, execFile } from "node:child_process";
import { type JsonRecord, listOf, parsed, recordOf, textOf } from "../../../structures/json.ts";

/** A plugin's credential: a token, or a certificate and its key in PEM. */
export interface PluginCredential {
  readonly token: string | null;
  readonly cert: string | null;
  readonly key: string | null;
}

/** Gives the cached credential while it is valid, else a new one. Rejects with a one-line message. */
export type Plugin = () => Promise<PluginCredential>;

/** The user, server and limits a plugin runs with. */
export interface ExecPluginOptions {
  readonly exec: JsonRecord;
  readonly server: string;
  readonly cluster: JsonRecord;
  /** The server's certificate authority in PEM; null for those the machine trusts. */
  readonly ca: string | null;
  /** Epoch milliseconds. */
  readonly wallMs: () => number;
  /** Time limit of a run, in milliseconds; a minute by default. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 60_000;
/** The extension of a cluster entry that is meant for its plugin. */
const CLUSTER_EXTENSION = "client.authentication.k8s.io/exec";

/** One plugin with its cached credential. Concurrent calls share one run. */
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
    // Kill a plugin that hangs; otherwise each call would leave another process behind.
    const limits = { timeout: timeoutMs, killSignal: "SIGKILL", encoding: "utf8" } as const;
    const plugin = execFile(command, listOf(exec.args).map(String), { env, ...limits }, (error, output, complaint) => {
      if (error === null) resolve(output);
      else if (error.killed === true) reject(new Error(`exec plugin ${command}: no answer within ${timeoutMs} ms`));
      else reject(new Error(faultOf(command, error, complaint)));
    });
    // No user is there to answer a prompt.
    plugin.stdin?.end();
  });
}

/**
 * The first line of a plugin's error output; many begin with an empty one. Its arguments may be secret and are left
 * out.
 */
function faultOf(command: string, { code, signal, message }: ExecFileException, complaint: string): string {
  const [line = ""] = complaint.trim().split("\n");
  if (line !== "") return `exec plugin ${command}: ${line}`;
  return typeof code === "string" ? message : `exec plugin ${command}: it ended with ${code ?? signal}`;
}

/** The ExecCredential input of a plugin, with the cluster if its configuration requires that. */
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
