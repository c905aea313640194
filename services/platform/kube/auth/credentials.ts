/**
 * Turns the cluster and user entries of a kubeconfig into request credentials. Tokens, files, certificates and
 * passwords are read here. Auth providers (OIDC) use @kubernetes/client-node, which is loaded for them alone because it
 * takes 38 MiB (decision 12).
 */
import { existsSync, readFileSync } from "node:fs";
import { type JsonRecord, listOf, recordOf, textOf } from "../../structures/json.ts";
import type { Authorize, Credentials } from "../transport/https.ts";
import { execPlugin, type Plugin } from "./exec-plugin.ts";

/** One server and the user to present there, as in a kubeconfig but with absolute paths. */
export interface KubeTarget {
  readonly server: string;
  readonly cluster: JsonRecord;
  readonly user: JsonRecord;
}

/** Credentials are read again after this; client-go re-reads token files each minute too. */
const FRESH_MS = 60_000;
/** A plugin is called more often, because it knows when its token expires and caches it. */
const PLUGIN_FRESH_MS = 5_000;
/** A server that refuses every request must not start the plugin for each. */
const RENEW_PAUSE_MS = 2_000;

/** The monotonic clock measures the age of credentials; plugins give expiry times on the wall clock. */
export interface CredentialsClock {
  readonly monotonicMs: () => number;
  readonly wallMs: () => number;
}

/**
 * The hook that gives a wire its credentials. `resolve` reads the configuration, and is called again when it may have
 * changed. While it or a file it names cannot be read, the last credentials are used until the server refuses them. A
 * plugin caches its own.
 */
export function credentialsFor(resolve: () => KubeTarget, clock: CredentialsClock): Authorize {
  let reading: Promise<Credentials> | null = null;
  let last: Credentials | null = null;
  let readAtMs = 0;
  let plugin: Plugin | null = null;
  const read = async (renew: boolean): Promise<Credentials> => {
    const target = resolve();
    const plain = plainCredentials(target);
    const kept = renew || !usesPlugin(target.user) ? null : plugin;
    plugin = kept ?? pluginFor(target, plain.tls.ca ?? null, clock.wallMs);
    return plugin === null ? plain : withPlugin(plain, plugin);
  };
  return (renew) => {
    const ageMs = clock.monotonicMs() - readAtMs;
    const freshMs = plugin === null ? FRESH_MS : PLUGIN_FRESH_MS;
    if (reading !== null && ageMs < (renew ? RENEW_PAUSE_MS : freshMs)) return reading;
    readAtMs = clock.monotonicMs();
    reading = read(renew).then(
      (credentials) => {
        last = credentials;
        return credentials;
      },
      (problem: unknown) => {
        reading = null;
        if (last === null || renew || plugin !== null) throw problem;
        return last;
      },
    );
    return reading;
  };
}

/** The credentials in the entries and in the files they name. */
function plainCredentials({ cluster, user }: KubeTarget): Credentials {
  return {
    tls: present({
      ca: pemOf(cluster, "certificate-authority"),
      cert: pemOf(user, "client-certificate"),
      key: pemOf(user, "client-key"),
      servername: textOf(cluster["tls-server-name"]),
      rejectUnauthorized: cluster["insecure-skip-tls-verify"] === true ? false : null,
    }),
    headers: { ...present({ authorization: authorizationOf(user) }), ...impersonation(user) },
  };
}

function present<T extends object>(record: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const entries = Object.entries(record).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as { [K in keyof T]?: NonNullable<T[K]> };
}

function authorizationOf(user: JsonRecord): string | null {
  const token = tokenOf(user);
  if (token !== null) return `Bearer ${token}`;
  const name = textOf(user.username);
  return name === null ? null : `Basic ${Buffer.from(`${name}:${textOf(user.password) ?? ""}`).toString("base64")}`;
}

/** The token file takes precedence: the token beside it is a copy from when the kubeconfig was written. */
function tokenOf(user: JsonRecord): string | null {
  const [token, file] = [textOf(user.token), textOf(user.tokenFile)];
  if (file === null || (token !== null && !existsSync(file))) return token;
  return textOf(readFileSync(file, "utf8").trim()) ?? token;
}

/** The impersonation headers. */
function impersonation(user: JsonRecord): Record<string, string | string[]> {
  const groups = textsOf(user["as-groups"]);
  const extra = Object.entries(recordOf(user["as-user-extra"]));
  return {
    ...present({ "impersonate-user": textOf(user.as), "impersonate-uid": textOf(user["as-uid"]) }),
    ...present({ "impersonate-group": groups.length === 0 ? null : groups }),
    ...Object.fromEntries(extra.map(([key, all]) => [`impersonate-extra-${encodeURIComponent(key)}`, textsOf(all)])),
  };
}

function textsOf(list: unknown): string[] {
  return listOf(list).flatMap((value) => textOf(value) ?? []);
}

/** A PEM from `<field>-data` in base64, or from the file that `<field>` names. */
function pemOf(entry: JsonRecord, field: string): string | null {
  const [data, file] = [textOf(entry[`${field}-data`]), textOf(entry[field])];
  if (data !== null) return Buffer.from(data, "base64").toString("utf8");
  return file === null ? null : readFileSync(file, "utf8");
}

function usesPlugin(user: JsonRecord): boolean {
  return user.exec !== undefined || user["auth-provider"] !== undefined;
}

function pluginFor({ server, cluster, user }: KubeTarget, ca: string | null, wallMs: () => number): Plugin | null {
  if (user.exec !== undefined) return execPlugin({ exec: recordOf(user.exec), server, cluster, ca, wallMs });
  return usesPlugin(user) ? providerFor(user) : null;
}

/** The library applies a provider to a whole cluster; only its token is used. */
function providerFor(user: JsonRecord): Plugin {
  const loading = import("@kubernetes/client-node").then(({ KubeConfig }) => {
    const config = new KubeConfig();
    const cluster = { name: "any", server: "https://any", skipTLSVerify: false };
    config.loadFromClusterAndUser(cluster, { name: "any", authProvider: user["auth-provider"] });
    return config;
  });
  return async () => {
    const options: { headers: Record<string, string> } = { headers: {} };
    await (await loading).applyToHTTPSOptions(options);
    return { token: textOf(options.headers.Authorization?.replace(/^Bearer /, "")), cert: null, key: null };
  };
}

async function withPlugin(plain: Credentials, plugin: Plugin): Promise<Credentials> {
  const { token, cert, key } = await plugin();
  if (token === null && cert === null) {
    throw new Error("the exec plugin or auth provider of this user gave neither a token nor a certificate");
  }
  const authorization = token === null ? null : `Bearer ${token}`;
  return {
    headers: { ...plain.headers, ...present({ authorization }) },
    tls: { ...plain.tls, ...present({ cert, key }) },
  };
}
