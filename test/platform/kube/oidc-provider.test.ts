/** The auth provider `oidc` of a kubeconfig user, against an issuer of the test on TLS. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { credentialsFor } from "../../../services/platform/kube/auth/credentials.ts";
import type { Authorize } from "../../../services/platform/kube/transport/https.ts";
import { makeCertificates } from "../../support/certificates.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "vigil-oidc-"));
const { caFile, serverCert, serverKey } = makeCertificates(FOLDER);
const NOW_S = 2_000_000_000;

let server: Server;
let issuer: string;
let nowS: number;
/** What the token endpoint was sent. */
let forms: { readonly form: Record<string, string>; readonly authorization: string | undefined }[];
/** What the issuer answers: its discovery document, and the status and body of its token endpoint. */
let discovery: Record<string, unknown>;
let answer: { readonly status: number; readonly body: unknown };

beforeAll(async () => {
  server = createServer({ cert: readFileSync(serverCert), key: readFileSync(serverKey) }, (request, response) => {
    if (request.url === "/realm/.well-known/openid-configuration") return void response.end(JSON.stringify(discovery));
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    request.on("end", () => {
      const { authorization } = request.headers;
      forms.push({ form: Object.fromEntries(new URLSearchParams(text)), authorization });
      response.statusCode = answer.status;
      response.end(JSON.stringify(answer.body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}/realm`;
});
afterAll(() => {
  server.close();
  rmSync(FOLDER, { recursive: true });
});
beforeEach(() => {
  nowS = NOW_S;
  forms = [];
  discovery = { issuer, token_endpoint: `${issuer}/token` };
  answer = { status: 200, body: { id_token: idToken(NOW_S + 7200), refresh_token: "second" } };
});

function idToken(expiresS: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ exp: expiresS })}.signature`;
}

/** Credentials of a user whose provider has this configuration besides the usual one. */
function authorizeWith(config: object, name = "oidc"): Authorize {
  const usual = { "client-id": "vigil", "idp-issuer-url": issuer, "idp-certificate-authority": caFile };
  const user = { "auth-provider": { name, config: { ...usual, ...config } } };
  const target = { server: "https://server", cluster: {}, user };
  return credentialsFor(() => target, { monotonicMs: () => nowS * 1000, wallMs: () => nowS * 1000, environment: {} });
}

const tokenOf = async (authorize: Authorize): Promise<unknown> => (await authorize(false)).headers.authorization;

test("a valid id token is sent, and refreshed shortly before it expires", async () => {
  const first = idToken(NOW_S + 60);
  const authorize = authorizeWith({ "id-token": first, "refresh-token": "first" });
  expect(await tokenOf(authorize)).toBe(`Bearer ${first}`);
  nowS += 49;
  expect(await tokenOf(authorize)).toBe(`Bearer ${first}`);
  expect(forms).toEqual([]);
  nowS += 6;
  expect(await tokenOf(authorize)).toBe(`Bearer ${idToken(NOW_S + 7200)}`);
  const form = { grant_type: "refresh_token", refresh_token: "first", client_id: "vigil" };
  expect(forms).toEqual([{ form, authorization: undefined }]);
});

test("a refreshed token is kept until it expires; then the new refresh token is used", async () => {
  const authorize = authorizeWith({ "refresh-token": "first" });
  for (const passedS of [0, 600, 6000]) {
    nowS = NOW_S + passedS;
    expect(await tokenOf(authorize)).toBe(`Bearer ${idToken(NOW_S + 7200)}`);
  }
  nowS = NOW_S + 7200;
  answer = { status: 200, body: { id_token: idToken(nowS + 7200) } };
  expect(await tokenOf(authorize)).toBe(`Bearer ${idToken(nowS + 7200)}`);
  expect(forms.map(({ form }) => form.refresh_token)).toEqual(["first", "second"]);
});

test("a client secret goes into the header, or into the form if the issuer needs that", async () => {
  const config = { "refresh-token": "first", "client-secret": "se cret" };
  await authorizeWith(config)(false);
  discovery = { ...discovery, token_endpoint_auth_methods_supported: ["client_secret_post"] };
  await authorizeWith(config)(false);
  const grant = { grant_type: "refresh_token", refresh_token: "first" };
  expect(forms).toEqual([
    { form: grant, authorization: `Basic ${btoa("vigil:se%20cret")}` },
    { form: { ...grant, client_id: "vigil", client_secret: "se cret" }, authorization: undefined },
  ]);
});

test("the issuer's certificate authority may be in the kubeconfig itself", async () => {
  const data = readFileSync(caFile).toString("base64");
  const config = { "idp-certificate-authority": undefined, "refresh-token": "first" };
  expect(await tokenOf(authorizeWith({ ...config, "idp-certificate-authority-data": data }))).toMatch(/^Bearer /);
  await expect(authorizeWith(config)(false)).rejects.toThrow(/^auth provider oidc: .*certificate/);
});

test("what cannot be refreshed is named in one line", async () => {
  const rejected = async (config: object, name?: string): Promise<string> =>
    authorizeWith(config, name)(false).then(String, ({ message }: Error) => message);
  const expired = { "id-token": idToken(NOW_S) };
  expect(await rejected(expired)).toBe("auth provider oidc: its id-token has expired and it has no refresh-token");
  const refreshing = { ...expired, "refresh-token": "first" };
  expect(await rejected({ ...refreshing, "client-id": "" })).toBe("auth provider oidc: its config has no client-id");
  expect(await rejected({ ...refreshing, "idp-issuer-url": "http://issuer" })).toBe(
    "auth provider oidc: http://issuer/.well-known/openid-configuration is not an https URL",
  );
  answer = { status: 400, body: { error: "invalid_grant" } };
  expect(await rejected(refreshing)).toBe(`auth provider oidc: ${issuer}/token: status 400, invalid_grant`);
  answer = { status: 200, body: {} };
  expect(await rejected(refreshing)).toBe(`auth provider oidc: ${issuer}/token issued no id_token`);
  discovery = {};
  expect(await rejected(refreshing)).toBe(`auth provider oidc: issuer ${issuer} names no token_endpoint`);
  expect(await rejected({}, "azure")).toBe(
    "auth provider azure is not supported, as in kubectl since 1.26: use an exec plugin, such as " +
      "gke-gcloud-auth-plugin or kubelogin",
  );
});
