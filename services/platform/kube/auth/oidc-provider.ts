/**
 * The `oidc` auth provider of a kubeconfig user: sends its id token, and gets a new one from the issuer with the refresh
 * token when the old one expires. Vigil writes no kubeconfig, so new tokens live as long as the process.
 */
import { readFileSync } from "node:fs";
import type { HttpRequest, Wire } from "../../../../protocols/ports.ts";
import { type JsonRecord, parsed, recordOf, textOf } from "../../../structures/json.ts";
import { type Credentials, httpsWire } from "../transport/https.ts";
import { proxyOf } from "../transport/proxy.policy.ts";
import type { Plugin } from "./exec-plugin.ts";

/** The provider's entry in the kubeconfig, and what it is judged by. */
export interface OidcOptions {
  /** `auth-provider.config` of the user. */
  readonly config: JsonRecord;
  /** Holds the proxy variables. */
  readonly environment: NodeJS.ProcessEnv;
  /** Epoch milliseconds. */
  readonly wallMs: () => number;
}

/** What the issuer issued. */
interface Tokens {
  readonly id: string | null;
  readonly refresh: string | null;
}

/** One request to the issuer: a GET, or the POST of a form. */
interface IssuerRequest {
  readonly url: URL;
  readonly form: URLSearchParams | null;
  /** User and password of HTTP's Basic scheme; null for none. */
  readonly basic: string | null;
}

/** A token that expires within this time is refreshed, as in client-go. */
const LEEWAY_MS = 10_000;
const TIMEOUT_MS = 30_000;
/** Discovery documents and tokens take a few KiB. */
const ANSWER_BYTES_MAX = 1024 ** 2;
const DISCOVERY_PATH = "/.well-known/openid-configuration";

/** The provider with its current tokens. Concurrent calls share one refresh. Rejects with a one-line message. */
export function oidcProvider({ config, environment, wallMs }: OidcOptions): Plugin {
  let tokens: Tokens = { id: textOf(config["id-token"]), refresh: textOf(config["refresh-token"]) };
  let refreshing: Promise<void> | null = null;
  const refresh = async (): Promise<void> => {
    try {
      tokens = await refreshed(tokens, config, environment);
    } finally {
      refreshing = null;
    }
  };
  return async () => {
    if (expiryMs(tokens.id) < wallMs() + LEEWAY_MS) {
      refreshing ??= refresh();
      await refreshing;
    }
    return { token: tokens.id, cert: null, key: null };
  };
}

/** When an id token expires, in epoch milliseconds; 0 for a missing or unreadable one. */
function expiryMs(idToken: string | null): number {
  const [, claims = ""] = idToken?.split(".") ?? [];
  const { exp } = recordOf(parsed(Buffer.from(claims, "base64url").toString("utf8")));
  return typeof exp === "number" ? exp * 1000 : 0;
}

async function refreshed(tokens: Tokens, config: JsonRecord, environment: NodeJS.ProcessEnv): Promise<Tokens> {
  const { refresh } = tokens;
  if (refresh === null) throw new Error("auth provider oidc: its id-token has expired and it has no refresh-token");
  const ca = authorityOf(config);
  const send = (request: IssuerRequest): Promise<JsonRecord> => answerOf(request, ca, environment);
  const issuer = required(config, "idp-issuer-url").replace(/\/$/, "");
  const discovery = await send({ url: httpsUrl(`${issuer}${DISCOVERY_PATH}`), form: null, basic: null });
  const endpoint = textOf(discovery.token_endpoint);
  if (endpoint === null) throw new Error(`auth provider oidc: issuer ${issuer} names no token_endpoint`);
  const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refresh });
  const answer = await send({ url: httpsUrl(endpoint), form, basic: identified(form, config, discovery) });
  const id = textOf(answer.id_token);
  if (id === null) throw new Error(`auth provider oidc: ${endpoint} issued no id_token`);
  return { id, refresh: textOf(answer.refresh_token) ?? refresh };
}

/** Adds the client to the form; returns its Basic credentials where the issuer accepts those, as it does by default. */
function identified(form: URLSearchParams, config: JsonRecord, discovery: JsonRecord): string | null {
  const [id, secret] = [required(config, "client-id"), textOf(config["client-secret"])];
  const methods = discovery.token_endpoint_auth_methods_supported;
  const takesBasic = !Array.isArray(methods) || methods.includes("client_secret_basic");
  if (secret !== null && takesBasic) return `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
  form.set("client_id", id);
  if (secret !== null) form.set("client_secret", secret);
  return null;
}

function required(config: JsonRecord, field: string): string {
  const value = textOf(config[field]);
  if (value === null) throw new Error(`auth provider oidc: its config has no ${field}`);
  return value;
}

/** Tokens and secrets travel over TLS only. */
function httpsUrl(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol !== "https:") throw new Error(`auth provider oidc: ${text} is not an https URL`);
  return url;
}

/** The issuer's certificate authority in PEM; null for those the machine trusts. */
function authorityOf(config: JsonRecord): string | null {
  const data = textOf(config["idp-certificate-authority-data"]);
  if (data !== null) return Buffer.from(data, "base64").toString("utf8");
  const file = textOf(config["idp-certificate-authority"]);
  return file === null ? null : readFileSync(file, "utf8");
}

async function answerOf(
  { url, form, basic }: IssuerRequest,
  ca: string | null,
  environment: NodeJS.ProcessEnv,
): Promise<JsonRecord> {
  const headers = basic === null ? {} : { authorization: `Basic ${Buffer.from(basic).toString("base64")}` };
  const credentials: Credentials = { headers, tls: ca === null ? {} : { ca } };
  const proxy = proxyOf(url, environment);
  const wire = httpsWire({ server: url.origin, authorize: () => Promise.resolve(credentials), proxy });
  try {
    const [status, text] = await sent(wire, {
      method: form === null ? "GET" : "POST",
      path: `${url.pathname}${url.search}`,
      headers: form === null ? {} : { "content-type": "application/x-www-form-urlencoded" },
      body: form?.toString() ?? null,
    });
    if (status !== 200) throw new Error(faultOf(status, text));
    return recordOf(parsed(text));
  } catch (error) {
    throw new Error(`auth provider oidc: ${url.href}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    wire.close();
  }
}

/** Sends one request; resolves with the status and the text of the answer. */
function sent(wire: Wire, request: HttpRequest): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let status = 0;
    let bytes = 0;
    const stop = (fault: string): void => {
      sending.abort();
      reject(new Error(fault));
    };
    const sending = wire.send(request, {
      response: (code) => {
        status = code;
      },
      data: (chunk) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) stop(`its answer is longer than ${ANSWER_BYTES_MAX} bytes`);
      },
      end: () => resolve([status, Buffer.concat(chunks).toString("utf8")]),
      failed: ({ message }) => reject(new Error(message)),
    });
    AbortSignal.timeout(TIMEOUT_MS).addEventListener("abort", () => stop(`no answer within ${TIMEOUT_MS} ms`));
  });
}

/** The status and the error code of OAuth 2.0, such as `invalid_grant` for a refresh token that was used before. */
function faultOf(status: number, text: string): string {
  const code = textOf(recordOf(parsed(text)).error);
  return code === null ? `status ${status}` : `status ${status}, ${code}`;
}
