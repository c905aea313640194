/**
 * Finds out which API server is meant and who we are there, as kubectl does: kubeconfig, $KUBECONFIG, ~/.kube/config,
 * or else the cluster we run in.
 */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { parse } from "yaml";
import { type JsonRecord, listOf, recordOf, textOf } from "../../structures/json.ts";
import { type Authorize, httpsWire, type SocketWire } from "../transport/https.ts";
import { proxyOf, withoutPassword } from "../transport/proxy.policy.ts";
import { credentialsFor, type KubeTarget } from "./credentials.ts";

/** Where to look; what is absent is looked for in the environment. */
export interface KubeConfigOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Whether a token or password may go to a server without TLS. */
  readonly allowTokenOverHttp?: boolean | undefined;
}

/** A way to the chosen server. */
export interface KubeConnection {
  readonly wire: SocketWire;
  readonly server: string;
  /** In words: the server and where it was found. */
  readonly describe: string;
  /** What about this way is unsafe, in one line for the log; null when nothing is. */
  readonly warning: string | null;
}

/** A kubeconfig that cannot be used; the message is one line that names the place, the fault and the fix. */
export class KubeConfigProblem extends Error {}

/** A target, where it was found in words, and its context; undefined where there are none. */
type Found = KubeTarget & { readonly origin: string; readonly context?: string };

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** The fields of entries that are paths from the file's folder on. */
const PATH_FIELDS = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/** Reads the configuration and the credentials; connects to nothing yet. Rejects with a KubeConfigProblem. */
export async function loadKubeConfig(
  options: KubeConfigOptions,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<KubeConnection> {
  const files = options.kubeconfig === undefined ? filesIn(environment) : [options.kubeconfig];
  const { server, origin, cluster, context } = targetOf(files, options.context, environment);
  // A file in which somebody has chosen another context since must not have us show that one's token to this server.
  const resolve = (): KubeTarget => {
    const target = targetOf(files, context, environment);
    if (target.server !== server) throw new KubeConfigProblem(`${origin}: its server is ${target.server} by now`);
    return target;
  };
  const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };
  const always = credentialsFor(resolve, clock);
  const isSafe = new URL(server).protocol === "https:" || options.allowTokenOverHttp === true;
  const authorize = isSafe ? always : refusingSecrets(always, server);
  try {
    await authorize(false);
    const proxy = textOf(cluster["proxy-url"]) ?? proxyOf(new URL(server), environment);
    const describe = `${server} (${origin})`;
    return { wire: httpsWire({ server, authorize, proxy }), server, describe, warning: warningOn(describe, cluster) };
  } catch (error) {
    throw new KubeConfigProblem(`${origin}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Refuses credentials that could be read on the way. kubectl leaves them out, and its user is told 401 without the
 * reason.
 */
function refusingSecrets(authorize: Authorize, server: string): Authorize {
  return async (renew) => {
    const credentials = await authorize(renew);
    if (credentials.headers.authorization === undefined) return credentials;
    const fix = "give the server as https://, or give --allow-token-over-http";
    throw new Error(`the token or password of its user could be read on the way to ${server}; ${fix}`);
  };
}

function warningOn(where: string, cluster: JsonRecord): string | null {
  if (cluster["insecure-skip-tls-verify"] !== true) return null;
  const risk = "whoever is in between can pose as the API server and is given our credentials";
  return `insecure-skip-tls-verify is set for ${where}: ${risk}; give its certificate-authority instead`;
}

function targetOf(files: readonly string[], context: string | undefined, environment: NodeJS.ProcessEnv): Found {
  if (files.length > 0) return targetIn(files, context);
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = "443" } = environment;
  if (host !== undefined && existsSync(`${SERVICE_ACCOUNT}/token`)) {
    return {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      origin: "the cluster we run in",
      cluster: { "certificate-authority": `${SERVICE_ACCOUNT}/ca.crt` },
      user: { tokenFile: `${SERVICE_ACCOUNT}/token` },
    };
  }
  throw new KubeConfigProblem("no kubeconfig: give --kubeconfig, set KUBECONFIG, or run in a cluster");
}

/** Of several files in KUBECONFIG those that exist, as kubectl has it; a single one must. */
function filesIn(environment: NodeJS.ProcessEnv): readonly string[] {
  const listed = (environment.KUBECONFIG ?? "").split(path.delimiter).filter((file) => file !== "");
  if (listed.length > 0) return listed.length === 1 ? listed : listed.filter((file) => existsSync(file));
  return [path.join(environment.HOME ?? homedir(), ".kube", "config")].filter((file) => existsSync(file));
}

/** The chosen context of several files; of entries with the same name the first counts, as kubectl has it. */
function targetIn(files: readonly string[], wanted: string | undefined): Found {
  const configs = files.map(configIn);
  const origin = `kubeconfig ${files.join(path.delimiter)}`;
  const fail = (fault: string): never => {
    throw new KubeConfigProblem(`${origin}: ${fault}`);
  };
  const contexts = entriesIn(configs, "context");
  if (contexts.size === 0) fail("it has no contexts, so it names no cluster to talk to");
  const names = [...contexts.keys()].join(", ");
  const current = configs.map(({ config }) => textOf(config["current-context"])).find((name) => name !== null);
  const name = wanted ?? current ?? fail(`it has no current-context: give --context, one of ${names}`);
  const context = contexts.get(name) ?? fail(`there is no context "${name}", only ${names}`);
  const part = (field: "cluster" | "user", called: string): JsonRecord =>
    entriesIn(configs, field).get(called) ?? fail(`context "${name}" names a ${field} that is not there: ${called}`);
  const cluster = part("cluster", String(context.cluster));
  const userName = textOf(context.user);
  const user = userName === null ? {} : part("user", userName);
  const server = textOf(cluster.server) ?? "";
  const proxy = textOf(cluster["proxy-url"]);
  if (!isHttpUrl(server)) fail(`context "${name}": server "${server}" is not an http or https URL`);
  if (proxy !== null && !isHttpUrl(proxy)) {
    fail(`context "${name}": proxy-url "${withoutPassword(proxy)}" is not an http or https URL`);
  }
  return { server, origin: `${origin}, context ${name}`, context: name, cluster, user };
}

/** One file, and the folder that its relative paths start from. */
interface ConfigFile {
  readonly config: JsonRecord;
  readonly folder: string;
}

function configIn(file: string): ConfigFile {
  let content: unknown;
  try {
    content = parse(readFileSync(file, "utf8"));
  } catch (error) {
    const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    // The system repeats the path after its own words.
    throw new KubeConfigProblem(`kubeconfig ${file}: ${line.replace(/:$|, open '.*'$/, "")}`);
  }
  const config = recordOf(content);
  if (Object.keys(config).length === 0) throw new KubeConfigProblem(`kubeconfig ${file}: it is empty or not a mapping`);
  return { config, folder: path.dirname(path.resolve(file)) };
}

/** The entries of one kind by name. */
function entriesIn(configs: readonly ConfigFile[], field: "context" | "cluster" | "user"): Map<string, JsonRecord> {
  const entries = new Map<string, JsonRecord>();
  for (const { config, folder } of configs) {
    for (const entry of listOf(config[`${field}s`]).map(recordOf)) {
      const name = textOf(entry.name);
      if (name !== null && !entries.has(name)) entries.set(name, withPaths(recordOf(entry[field]), folder));
    }
  }
  return entries;
}

/** A plugin's command with a slash is a path as well; any other is looked for in PATH. */
function withPaths(entry: JsonRecord, folder: string): JsonRecord {
  const absolute: Record<string, unknown> = { ...entry };
  for (const field of PATH_FIELDS) {
    const file = textOf(entry[field]);
    if (file !== null) absolute[field] = path.resolve(folder, file);
  }
  const exec = recordOf(entry.exec);
  const command = textOf(exec.command);
  if (command?.includes("/")) absolute.exec = { ...exec, command: path.resolve(folder, command) };
  return absolute;
}

function isHttpUrl(text: string): boolean {
  return /^https?:/i.test(text) && URL.canParse(text);
}
