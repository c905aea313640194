/**
 * Finds the API server and the user to present there as kubectl does: kubeconfig, $KUBECONFIG, ~/.kube/config, else the
 * in-cluster service account.
 */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { parse } from "yaml";
import { type JsonRecord, listOf, recordOf, textOf } from "../../../structures/json.ts";
import { type Authorize, type HttpsWireOptions, httpsWire, type SocketWire } from "../transport/https.ts";
import { proxyOf, withoutPassword } from "../transport/proxy.policy.ts";
import { credentialsFor, type KubeTarget } from "./credentials.ts";

/** Explicit settings; absent ones come from the environment. */
export interface KubeConfigOptions {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Whether a token or password may go to a server without TLS. */
  readonly allowTokenOverHttp?: boolean | undefined;
}

/** A connection to the chosen server. */
export interface KubeConnection {
  readonly wire: SocketWire;
  /** What the wire was made of. */
  readonly wireOptions: HttpsWireOptions;
  readonly server: string;
  /** Where the address of the server comes from, for people. */
  readonly origin: string;
  /** The server and where its address comes from, for people. */
  readonly describe: string;
  /** What is unsafe about this connection, in one line for the log; null when nothing is. */
  readonly warning: string | null;
}

/** A kubeconfig that cannot be used. The message is one line that names the place, the fault and the fix. */
export class KubeConfigProblem extends Error {}

/** A target, its origin for messages, and its context; undefined in a cluster. */
type Found = KubeTarget & { readonly origin: string; readonly context?: string };

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** The fields that hold paths relative to the file's folder. */
const PATH_FIELDS = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/** Reads the configuration and the credentials, and connects to nothing. Rejects with a KubeConfigProblem. */
export async function loadKubeConfig(
  options: KubeConfigOptions,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<KubeConnection> {
  const files = options.kubeconfig === undefined ? filesIn(environment) : [options.kubeconfig];
  const { server, origin, cluster, context } = targetOf(files, options.context, environment);
  // A later change of the file's server must not send its credentials to this one.
  const resolve = (): KubeTarget => {
    const target = targetOf(files, context, environment);
    if (target.server !== server) throw new KubeConfigProblem(`${origin}: its server is ${target.server} by now`);
    return target;
  };
  const always = credentialsFor(resolve, {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    environment,
  });
  const isSafe = new URL(server).protocol === "https:" || options.allowTokenOverHttp === true;
  const authorize = isSafe ? always : refusingSecrets(always, server);
  try {
    await authorize(false);
    const proxy = textOf(cluster["proxy-url"]) ?? proxyOf(new URL(server), environment);
    const describe = `${server} (${origin})`;
    const wireOptions = { server, authorize, proxy };
    return {
      wire: httpsWire(wireOptions),
      wireOptions,
      server,
      origin,
      describe,
      warning: warningOn(describe, cluster),
    };
  } catch (error) {
    throw new KubeConfigProblem(`${origin}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * The namespace that kubectl would use: that of the chosen context, or `default`, also without a kubeconfig. Throws a
 * KubeConfigProblem for a file that cannot be used.
 */
export function namespaceOfContext(
  { kubeconfig, context: wanted }: Pick<KubeConfigOptions, "kubeconfig" | "context">,
  environment: NodeJS.ProcessEnv,
): string {
  const files = kubeconfig === undefined ? filesIn(environment) : [kubeconfig];
  return (files.length === 0 ? null : textOf(contextIn(files, wanted).context.namespace)) || "default";
}

/** Refuses to send credentials in the clear. kubectl leaves them out, and its user gets a 401 without the reason. */
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
  const risk = "an attacker on the network can pose as the API server and receive our credentials";
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
  const searched = listedIn(environment).join(path.delimiter) || homeFile(environment);
  const fix = "give --kubeconfig, set KUBECONFIG, or run in a cluster";
  throw new KubeConfigProblem(`no kubeconfig: ${searched} does not exist, and this is no pod: ${fix}`);
}

/** Of several files in KUBECONFIG only those that exist count, as in kubectl; a single one must exist. */
function filesIn(environment: NodeJS.ProcessEnv): readonly string[] {
  const listed = listedIn(environment);
  if (listed.length > 0) return listed.length === 1 ? listed : listed.filter((file) => existsSync(file));
  return [homeFile(environment)].filter((file) => existsSync(file));
}

function listedIn(environment: NodeJS.ProcessEnv): readonly string[] {
  return (environment.KUBECONFIG ?? "").split(path.delimiter).filter((file) => file !== "");
}

function homeFile(environment: NodeJS.ProcessEnv): string {
  return path.join(environment.HOME ?? homedir(), ".kube", "config");
}

/** A chosen context, and the files that it is in. */
interface FoundContext {
  readonly name: string;
  readonly context: JsonRecord;
  readonly configs: readonly ConfigFile[];
  readonly origin: string;
  readonly fail: (fault: string) => never;
}

/** The chosen context; of entries with the same name the first counts, as in kubectl. */
function contextIn(files: readonly string[], wanted: string | undefined): FoundContext {
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
  return { name, context, configs, origin, fail };
}

function targetIn(files: readonly string[], wanted: string | undefined): Found {
  const { name, context, configs, origin, fail } = contextIn(files, wanted);
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
    // The system error repeats the path at its end.
    throw new KubeConfigProblem(`kubeconfig ${file}: ${line.replace(/:$|, open '.*'$/, "")}`);
  }
  const config = recordOf(content);
  if (Object.keys(config).length === 0) throw new KubeConfigProblem(`kubeconfig ${file}: it is empty or not a mapping`);
  return { config, folder: path.dirname(path.resolve(file)) };
}

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

/** A plugin's command with a slash is a path too; any other is found through PATH. */
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
