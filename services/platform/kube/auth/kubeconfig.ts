/**
 * Finds out which API server is meant and who we are there: kubeconfig, $KUBECONFIG, ~/.kube/config, or the cluster we
 * run in.
 */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { parse } from "yaml";
import { type JsonRecord, listOf, recordOf, textOf } from "../../structures/json.ts";
import { type Authorize, httpsWire, type SocketWire } from "../transport/https.ts";
import { proxyOf } from "../transport/proxy.policy.ts";
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

/** One entry of a kubeconfig, with the folder that its relative paths start from. */
interface Entry {
  readonly content: JsonRecord;
  readonly folder: string;
}

/** Several kubeconfigs as one; of entries with the same name the first counts, as kubectl has it. */
interface Merged {
  readonly origin: string;
  readonly currentContext: string | null;
  readonly contexts: ReadonlyMap<string, Entry>;
  readonly clusters: ReadonlyMap<string, Entry>;
  readonly users: ReadonlyMap<string, Entry>;
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Reads the configuration and the credentials; connects to nothing yet. Rejects with a KubeConfigProblem. */
export async function loadKubeConfig(
  options: KubeConfigOptions,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<KubeConnection> {
  const files = options.kubeconfig === undefined ? filesIn(environment) : [options.kubeconfig];
  const first = targetOf(files, options.context, environment);
  const { server, origin, cluster, context } = first;
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
  } catch (error) {
    throw new KubeConfigProblem(`${origin}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const proxy = textOf(cluster["proxy-url"]) ?? proxyIn(environment, server, origin);
  const describe = `${server} (${origin})`;
  return { wire: httpsWire({ server, authorize, proxy }), server, describe, warning: warningOn(describe, cluster) };
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

function proxyIn(environment: NodeJS.ProcessEnv, server: string, origin: string): string | null {
  try {
    return proxyOf(new URL(server), environment);
  } catch (error) {
    throw new KubeConfigProblem(`${origin}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function targetOf(
  files: readonly string[],
  context: string | undefined,
  environment: NodeJS.ProcessEnv,
): KubeTarget & { readonly context?: string } {
  if (files.length > 0) return chosen(merge(files), context);
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (host !== undefined && existsSync(`${SERVICE_ACCOUNT}/token`)) return inCluster(host, port ?? "443");
  throw new KubeConfigProblem("no kubeconfig: give --kubeconfig, set KUBECONFIG, or run in a cluster");
}

/** Of several files in KUBECONFIG those that exist, as kubectl has it; a single one must. */
function filesIn(environment: NodeJS.ProcessEnv): readonly string[] {
  const listed = (environment.KUBECONFIG ?? "").split(path.delimiter).filter((file) => file !== "");
  if (listed.length === 1) return listed;
  if (listed.length > 1) return listed.filter((file) => existsSync(file));
  const ofUser = path.join(environment.HOME ?? homedir(), ".kube", "config");
  return existsSync(ofUser) ? [ofUser] : [];
}

function inCluster(host: string, port: string): KubeTarget {
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    origin: "the cluster we run in",
    cluster: { "certificate-authority": path.join(SERVICE_ACCOUNT, "ca.crt") },
    user: { tokenFile: path.join(SERVICE_ACCOUNT, "token") },
  };
}

function merge(files: readonly string[]): Merged {
  const contexts = new Map<string, Entry>();
  const clusters = new Map<string, Entry>();
  const users = new Map<string, Entry>();
  let currentContext: string | null = null;
  for (const file of files) {
    const config = readConfig(file);
    const folder = path.dirname(path.resolve(file));
    currentContext ??= textOf(config["current-context"]);
    collect(config.contexts, "context", folder, contexts);
    collect(config.clusters, "cluster", folder, clusters);
    collect(config.users, "user", folder, users);
  }
  return { origin: `kubeconfig ${files.join(path.delimiter)}`, currentContext, contexts, clusters, users };
}

function readConfig(file: string): JsonRecord {
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
  return config;
}

function collect(entries: unknown, field: string, folder: string, into: Map<string, Entry>): void {
  for (const raw of listOf(entries)) {
    const entry = recordOf(raw);
    const name = textOf(entry.name);
    if (name !== null && !into.has(name)) into.set(name, { content: recordOf(entry[field]), folder });
  }
}

function chosen(config: Merged, wanted: string | undefined): KubeTarget & { readonly context: string } {
  if (config.contexts.size === 0) throw problem(config, "it has no contexts, so it names no cluster to talk to");
  const name = wanted ?? config.currentContext;
  const names = [...config.contexts.keys()].join(", ");
  if (name === null) throw problem(config, `it has no current-context: give --context, one of ${names}`);
  const context = config.contexts.get(name)?.content;
  if (context === undefined) throw problem(config, `there is no context "${name}", only ${names}`);
  const cluster = config.clusters.get(textOf(context.cluster) ?? "");
  if (cluster === undefined)
    throw problem(config, `context "${name}" names a cluster that is not there: ${String(context.cluster)}`);
  const userName = textOf(context.user);
  const user = userName === null ? undefined : config.users.get(userName);
  if (userName !== null && user === undefined)
    throw problem(config, `context "${name}" names a user that is not there: ${userName}`);
  return {
    context: name,
    server: serverOf(config, name, cluster.content),
    origin: `${config.origin}, context ${name}`,
    cluster: withPaths(cluster, ["certificate-authority"]),
    user:
      user === undefined ? {} : withPlugin(withPaths(user, ["client-certificate", "client-key", "tokenFile"]), user),
  };
}

function serverOf(config: Merged, context: string, cluster: JsonRecord): string {
  const server = textOf(cluster.server) ?? "";
  const url = URL.canParse(server) ? new URL(server) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw problem(config, `context "${context}": server "${server}" is not an http or https URL`);
  }
  const proxy = textOf(cluster["proxy-url"]);
  if (proxy !== null && !/^https?:\/\//.test(proxy)) {
    throw problem(config, `context "${context}": proxy-url "${proxy}" is not an http or https URL`);
  }
  return server;
}

function withPaths({ content, folder }: Entry, fields: readonly string[]): JsonRecord {
  const absolute: Record<string, unknown> = { ...content };
  for (const field of fields) {
    const file = textOf(content[field]);
    if (file !== null) absolute[field] = path.resolve(folder, file);
  }
  return absolute;
}

/** A plugin's command with a slash is a path from the file's folder on; any other is looked for in PATH. */
function withPlugin(user: JsonRecord, { content, folder }: Entry): JsonRecord {
  const exec = recordOf(content.exec);
  const command = textOf(exec.command);
  if (command === null || !command.includes("/")) return user;
  return { ...user, exec: { ...exec, command: path.resolve(folder, command) } };
}

function problem(config: Merged, fault: string): KubeConfigProblem {
  return new KubeConfigProblem(`${config.origin}: ${fault}`);
}
