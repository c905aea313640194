/**
 * Turns the cluster and user entries of a kubeconfig into what requests carry. Tokens, files, certificates and
 * passwords are read here; exec plugins and auth providers (OIDC) are left to @kubernetes/client-node, which is only
 * loaded for them, because loading it takes half a second and 89 MB.
 */
import { readFileSync } from "node:fs";
import type { KubeConfig } from "@kubernetes/client-node";
import type { TlsMaterial } from "./kube.agent.ts";
import type { Authorize, Credentials } from "./kube.https.ts";
import { type JsonRecord, listOf, recordOf, textOf } from "./kube.json.ts";

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

/**
 * The hook that gives a wire its credentials; `resolve` reads the configuration, and does so again when it may have
 * changed. `nowMs` is a monotonic clock.
 */
export function credentialsFor(resolve: () => KubeTarget, nowMs: () => number): Authorize {
  let reading: Promise<Credentials> | null = null;
  let readAtMs = 0;
  let freshMs = FRESH_MS;
  let plugin: KubeConfig | null = null;
  const read = async (renew: boolean): Promise<Credentials> => {
    const target = resolve();
    const plain = plainCredentials(target);
    if (!usesPlugin(target.user)) return plain;
    freshMs = PLUGIN_FRESH_MS;
    if (plugin === null || renew) plugin = await pluginFor(target);
    return withPlugin(plain, plugin);
  };
  return (renew) => {
    const ageMs = nowMs() - readAtMs;
    if (reading !== null && ageMs < (renew ? RENEW_PAUSE_MS : freshMs)) return reading;
    readAtMs = nowMs();
    reading = read(renew);
    reading.catch(() => {
      reading = null;
    });
    return reading;
  };
}

function usesPlugin(user: JsonRecord): boolean {
  return user.exec !== undefined || user["auth-provider"] !== undefined;
}

function plainCredentials({ cluster, user }: KubeTarget): Credentials {
  const token = textOf(user.token) ?? tokenIn(textOf(user.tokenFile));
  const username = textOf(user.username);
  const impersonated = textOf(user.as);
  return {
    tls: tlsOf(cluster, user),
    headers: {
      ...(username === null ? {} : { authorization: basic(username, textOf(user.password) ?? "") }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(impersonated === null ? {} : { "impersonate-user": impersonated }),
    },
  };
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

function tokenIn(file: string | null): string | null {
  return file === null ? null : textOf(readFileSync(file, "utf8").trim());
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

async function pluginFor({ server, cluster, user }: KubeTarget): Promise<KubeConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  // It refuses plain http to a server it shall verify; whether to verify is decided above.
  const entry = { ...cluster, server, "insecure-skip-tls-verify": true, "certificate-authority": undefined };
  const document = {
    "current-context": "chosen",
    contexts: [{ name: "chosen", context: { cluster: "chosen", user: "chosen" } }],
    clusters: [{ name: "chosen", cluster: entry }],
    users: [{ name: "chosen", user: { ...user, ...(user.exec === undefined ? {} : { exec: execOf(user.exec) }) } }],
  };
  config.loadFromString(JSON.stringify(document));
  return config;
}

/**
 * Plugins want to be told what is asked of them (ExecCredential in KUBERNETES_EXEC_INFO), which client-node leaves out.
 */
function execOf(raw: unknown): JsonRecord {
  const exec = recordOf(raw);
  const request = { apiVersion: exec.apiVersion, kind: "ExecCredential", spec: { interactive: false } };
  return { ...exec, env: [...listOf(exec.env), { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(request) }] };
}

async function withPlugin(plain: Credentials, plugin: KubeConfig): Promise<Credentials> {
  const options: { headers: Record<string, string>; cert?: string; key?: string } = { headers: {} };
  await plugin.applyToHTTPSOptions(options);
  const { Authorization: authorization } = options.headers;
  if (authorization === undefined && options.cert === undefined) {
    throw new Error("the exec plugin or auth provider of this user gave neither a token nor a certificate");
  }
  return {
    headers: { ...plain.headers, ...(authorization === undefined ? {} : { authorization }) },
    tls: {
      ...plain.tls,
      ...(options.cert === undefined ? {} : { cert: String(options.cert) }),
      ...(options.key === undefined ? {} : { key: String(options.key) }),
    },
  };
}
