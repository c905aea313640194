/**
 * Turns the cluster and user entries of a kubeconfig into request credentials: tokens, files, certificates, passwords,
 * exec plugins and the auth provider `oidc` (decision 30).
 */
import { existsSync, readFileSync } from "node:fs";
import { type JsonRecord, listOf, recordOf, textOf } from "../../../structures/json.ts";
import type { Authorize, Credentials } from "../transport/https.ts";
import { execPlugin, type Plugin } from "./exec-plugin.ts";
import { oidcProvider } from "./oidc-provider.ts";

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

/** What credentials depend on besides the kubeconfig. */
export interface CredentialsContext {
  /** Measures the age of credentials. */
  readonly monotonicMs: () => number;
  /** Epoch milliseconds; plugins give expiry times on this clock. */
  readonly wallMs: () => number;
  /** Holds the proxy variables. */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * The hook that gives a wire its credentials. `resolve` reads the configuration, and is called again when it may have
 * changed. While it or a file it names cannot be read, the last credentials are used until the server refuses them. A
 * plugin caches its own.
 */
export function credentialsFor(resolve: () => KubeTarget, context: CredentialsContext): Authorize {
  let reading: Promise<Credentials> | null = null;
  let last: Credentials | null = null;
  let readAtMs = 0;
  let plugin: Plugin | null = null;
  const read = async (renew: boolean): Promise<Credentials> => {
    const target = resolve();
    const plain = plainCredentials(target);
    const kept = renew || !usesPlugin(target.user) ? null : plugin;
    plugin = kept ?? pluginFor(target, plain.tls.ca ?? null, context);
    return plugin === null ? plain : withPlugin(plain, plugin);
  };
  return (renew) => {
    const ageMs = context.monotonicMs() - readAtMs;
    const freshMs = plugin === null ? FRESH_MS : PLUGIN_FRESH_MS;
    if (reading !== null && ageMs < (renew ? RENEW_PAUSE_MS : freshMs)) return reading;
    readAtMs = context.monotonicMs();
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

function pluginFor(
  { server, cluster, user }: KubeTarget,
  ca: string | null,
  context: CredentialsContext,
): Plugin | null {
  const { wallMs } = context;
  if (user.exec !== undefined) return execPlugin({ exec: recordOf(user.exec), server, cluster, ca, wallMs });
  return usesPlugin(user) ? providerFor(recordOf(user["auth-provider"]), context) : null;
}

/** kubectl 1.26 dropped every other provider. */
function providerFor(provider: JsonRecord, { environment, wallMs }: CredentialsContext): Plugin {
  if (provider.name === "oidc") return oidcProvider({ config: recordOf(provider.config), environment, wallMs });
  const fix = "use an exec plugin, such as gke-gcloud-auth-plugin or kubelogin";
  throw new Error(`auth provider ${String(provider.name)} is not supported, as in kubectl since 1.26: ${fix}`);
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
