/**
 * Turns the cluster and user entries of a kubeconfig into what requests carry. Tokens, files, certificates and
 * passwords are read here; auth providers (OIDC) are left to @kubernetes/client-node, which is only loaded for them,
 * because loading it takes half a second and 89 MB.
 */
import { existsSync, readFileSync } from "node:fs";
import { type JsonRecord, listOf, recordOf, textOf } from "../../structures/json.ts";
import type { TlsMaterial } from "../transport/agent.ts";
import type { Authorize, Credentials } from "../transport/https.ts";
import { ExecPlugin, type PluginCredential } from "./exec-plugin.ts";

/** One server and who we are there, in a kubeconfig's words with absolute paths. */
export interface KubeTarget {
  readonly server: string;
  /** Where this was found, in words. */
  readonly origin: string;
  readonly cluster: JsonRecord;
  readonly user: JsonRecord;
}

/** Files and plugins are asked again after this; client-go re-reads token files each minute too. */
const FRESH_MS = 60_000;
/** A plugin knows when its token ends, so it is asked often; it answers from its memory. */
const PLUGIN_FRESH_MS = 5_000;
/** A server that refuses everyone must not make us run the plugin for each request. */
const RENEW_PAUSE_MS = 2_000;

/** The monotonic clock measures how old credentials are; by the wall clock plugins say when a token ends. */
export interface CredentialsClock {
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
}

type Plugin = () => Promise<PluginCredential>;

/**
 * The hook that gives a wire its credentials; `resolve` reads the configuration, and does so again when it may have
 * changed. While that or a file it names cannot be read, the last credentials stand in, until they are refused; what a
 * plugin gave is kept by the plugin.
 */
export function credentialsFor(resolve: () => KubeTarget, clock: CredentialsClock): Authorize {
  let reading: Promise<Credentials> | null = null;
  let good: Credentials | null = null;
  let readAtMs = 0;
  let freshMs = FRESH_MS;
  let plugin: Plugin | null = null;
  const read = async (renew: boolean): Promise<Credentials> => {
    const target = resolve();
    const plain = plainCredentials(target);
    if (!usesPlugin(target.user)) return plain;
    freshMs = PLUGIN_FRESH_MS;
    if (plugin === null || renew) plugin = pluginFor(target, plain.tls.ca ?? null, clock.wallMs);
    return withPlugin(plain, await plugin());
  };
  const again = (): void => {
    reading = null;
  };
  return (renew) => {
    const ageMs = clock.monotonicMs() - readAtMs;
    if (reading !== null && ageMs < (renew ? RENEW_PAUSE_MS : freshMs)) return reading;
    readAtMs = clock.monotonicMs();
    const fresh = read(renew);
    fresh.then((credentials) => {
      good = credentials;
    }, again);
    reading = fresh.catch((problem: unknown) => {
      if (good === null || renew || plugin !== null) throw problem;
      return good;
    });
    return reading;
  };
}

function usesPlugin(user: JsonRecord): boolean {
  return user.exec !== undefined || user["auth-provider"] !== undefined;
}

function plainCredentials({ cluster, user }: KubeTarget): Credentials {
  const token = tokenOf(user);
  const username = textOf(user.username);
  return {
    tls: tlsOf(cluster, user),
    headers: {
      ...(username === null ? {} : { authorization: basic(username, textOf(user.password) ?? "") }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...impersonation(user),
    },
  };
}

/** Who we ask to be taken for: a name, and what besides decides what that one may do. */
function impersonation(user: JsonRecord): Record<string, string | string[]> {
  const [name, uid] = [textOf(user.as), textOf(user["as-uid"])];
  const groups = textsOf(user["as-groups"]);
  const extra = Object.entries(recordOf(user["as-user-extra"]));
  return {
    ...(name === null ? {} : { "impersonate-user": name }),
    ...(uid === null ? {} : { "impersonate-uid": uid }),
    ...(groups.length === 0 ? {} : { "impersonate-group": groups }),
    ...Object.fromEntries(extra.map(([key, all]) => [`impersonate-extra-${encodeURIComponent(key)}`, textsOf(all)])),
  };
}

function textsOf(list: unknown): string[] {
  return listOf(list).flatMap((value) => textOf(value) ?? []);
}

function tlsOf(cluster: JsonRecord, user: JsonRecord): TlsMaterial {
  const ca = pemOf(cluster, "certificate-authority");
  const cert = pemOf(user, "client-certificate");
  const key = pemOf(user, "client-key");
  const servername = textOf(cluster["tls-server-name"]);
  return {
    ...(ca === null ? {} : { ca }),
    ...(cert === null ? {} : { cert }),
    ...(key === null ? {} : { key }),
    ...(servername === null ? {} : { servername }),
    ...(cluster["insecure-skip-tls-verify"] === true ? { rejectUnauthorized: false } : {}),
  };
}

/** A PEM text from `<field>-data` in base64, or from the file that `<field>` names. */
function pemOf(entry: JsonRecord, field: string): string | null {
  const data = textOf(entry[`${field}-data`]);
  if (data !== null) return Buffer.from(data, "base64").toString("utf8");
  const file = textOf(entry[field]);
  return file === null ? null : readFileSync(file, "utf8");
}

/** The file's token counts: the one beside it is what the file held when somebody wrote the kubeconfig. */
function tokenOf(user: JsonRecord): string | null {
  const [token, file] = [textOf(user.token), textOf(user.tokenFile)];
  if (file === null || (token !== null && !existsSync(file))) return token;
  return textOf(readFileSync(file, "utf8").trim()) ?? token;
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

function pluginFor(target: KubeTarget, ca: string | null, wallMs: () => number): Plugin {
  const { server, cluster, user } = target;
  if (user.exec === undefined) {
    const provider = providerFor(target);
    return async () => (await provider)();
  }
  const plugin = new ExecPlugin({ exec: recordOf(user.exec), server, cluster, ca, wallMs });
  return () => plugin.credential();
}

async function providerFor({ server, cluster, user }: KubeTarget): Promise<Plugin> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  // It refuses plain http to a server it shall verify; whether to verify is decided above.
  const entry = { ...cluster, server, "insecure-skip-tls-verify": true, "certificate-authority": undefined };
  const document = {
    "current-context": "chosen",
    contexts: [{ name: "chosen", context: { cluster: "chosen", user: "chosen" } }],
    clusters: [{ name: "chosen", cluster: entry }],
    users: [{ name: "chosen", user }],
  };
  config.loadFromString(JSON.stringify(document));
  return async () => {
    const options: { headers: Record<string, string> } = { headers: {} };
    await config.applyToHTTPSOptions(options);
    const { Authorization: authorization = "" } = options.headers;
    return { token: textOf(authorization.replace(/^Bearer /, "")), cert: null, key: null };
  };
}

function withPlugin(plain: Credentials, { token, cert, key }: PluginCredential): Credentials {
  if (token === null && cert === null) {
    throw new Error("the exec plugin or auth provider of this user gave neither a token nor a certificate");
  }
  return {
    headers: { ...plain.headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    tls: { ...plain.tls, ...(cert === null ? {} : { cert }), ...(key === null ? {} : { key }) },
  };
}
