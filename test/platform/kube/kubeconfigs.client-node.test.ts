/**
 * Each kubeconfig as two readers take it: Vigil, and the `KubeConfig` of `@kubernetes/client-node`. What a server receives
 * is the same, or the difference is a row of the table in decision 30.
 */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { TLSSocket } from "node:tls";
import { KubeConfig, VersionApi } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { loadKubeConfig } from "../../../services/platform/kube/auth/kubeconfig.ts";
import { type Certificates, makeCertificates } from "../../support/certificates.ts";
import { exchanged, get, type LocalServer, localServer } from "./local-server.ts";

const DECISIONS = join(import.meta.dirname, "../../../docs/decisions");
/** The head of the table with the differences. */
const TABLE_HEAD = "| subject | the library | kubectl, and Vigil |";
const VERSION = JSON.stringify({ major: "1", minor: "36", gitVersion: "v1.36.0" });
/** Not run here: a test of credentials.test.ts shows that Vigil ends it, and the library would wait for ever. */
const HANGS = "an exec plugin that hangs";

let folder: string;
let certificates: Certificates;
let secure: { readonly url: string; close(): void };
let plain: LocalServer;
let received: string[] = [];

/** What a server learns of a client: its headers about a user, and the name in its certificate. */
function noteOf({ rawHeaders, socket }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) =>
    at % 2 === 0 ? [`${name.toLowerCase()}: ${rawHeaders[at + 1]}`] : [],
  );
  const subject = "getPeerCertificate" in socket ? (socket as TLSSocket).getPeerCertificate().subject?.CN : undefined;
  const identity = lines.filter((line) => /^(authorization|impersonate-)/.test(line)).sort();
  return [...identity, ...(subject === undefined ? [] : [`certificate: ${String(subject)}`])].join(", ") || "nobody";
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "kubeconfigs-"));
  certificates = makeCertificates(folder);
  const { caFile, serverCert, serverKey } = certificates;
  const [ca, cert, key] = [caFile, serverCert, serverKey].map((file) => readFileSync(file));
  const answer = (request: IncomingMessage, response: { end(text: string): unknown }): void => {
    received.push(noteOf(request));
    response.end(VERSION);
  };
  const server = createServer({ ca, cert, key, requestCert: true, rejectUnauthorized: false }, answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  secure = { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
  plain = await localServer(answer);
});
afterAll(async () => {
  secure.close();
  await plain.close();
  rmSync(folder, { recursive: true });
});
afterEach(() => {
  vi.unstubAllEnvs();
  received = [];
});

/** The parts of a kubeconfig; a cluster trusts the server unless it says otherwise. */
interface Parts {
  readonly user?: object;
  readonly cluster?: object;
  readonly context?: object;
}

const PLUGIN_API = "client.authentication.k8s.io/v1";
const base64 = (file: string): string => readFileSync(file).toString("base64");
/** The user whose exec plugin is these lines of shell. */
const plugin = (lines: string) => ({
  user: { exec: { apiVersion: PLUGIN_API, command: "sh", args: ["-c", lines], interactiveMode: "Never" } },
});

function configOf({ user = {}, cluster, context = { user: "u" } }: Parts): object {
  const trusting = { server: secure.url, "certificate-authority": certificates.caFile };
  return {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "k", ...context } }],
    clusters: [{ name: "k", cluster: cluster ?? trusting }],
    users: [{ name: "u", user }],
  };
}

function written(config: unknown, name = "config"): string {
  const file = join(folder, name);
  writeFileSync(file, typeof config === "string" ? config : JSON.stringify(config));
  return file;
}

/** What the server received from a client, or the first line of why there was no request. */
async function outcomeOf(request: () => Promise<unknown>): Promise<string> {
  const before = received.length;
  const problem = await request().then(
    () => null,
    (error: Error) => (error.cause instanceof Error ? error.cause.message : error.message).split("\n", 1)[0],
  );
  return received[before] ?? `refused: ${problem}`.replaceAll(folder, "");
}

/** What both readers make of a kubeconfig. */
interface Outcomes {
  readonly library: string;
  readonly vigil: string;
}

/** `KUBECONFIG` names the files; `environment` holds more variables. */
async function outcomes(files: readonly string[], environment: Record<string, string> = {}): Promise<Outcomes> {
  const variables = { KUBECONFIG: files.join(delimiter), ...environment };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  const library = await outcomeOf(async () => {
    const config = new KubeConfig();
    config.loadFromDefault();
    await config.makeApiClient(VersionApi).getCode();
  });
  const vigil = await outcomeOf(async () => {
    const { wire } = await loadKubeConfig({ allowTokenOverHttp: true }, variables);
    const ending = await exchanged(wire, get("/version"));
    wire.close();
    if (ending.kind === "failed") throw new Error(ending.message);
  });
  return { library, vigil };
}

describe("both readers send the same", () => {
  const pem = () => ({ cert: certificates.clientCert, key: certificates.clientKey });

  test.each<[string, () => Parts, string]>([
    ["without a user's credentials", () => ({}), "nobody"],
    ["a token", () => ({ user: { token: "t" } }), "authorization: Bearer t"],
    ["a password", () => ({ user: { username: "me", password: "p" } }), `authorization: Basic ${btoa("me:p")}`],
    [
      "a token and whom to impersonate",
      () => ({ user: { token: "t", as: "other" } }),
      "authorization: Bearer t, impersonate-user: other",
    ],
    [
      "a certificate of files beside the kubeconfig",
      () => ({ user: { "client-certificate": "client.pem", "client-key": "client.key" } }),
      "certificate: client",
    ],
    [
      "a certificate in the kubeconfig",
      () => ({ user: { "client-certificate-data": base64(pem().cert), "client-key-data": base64(pem().key) } }),
      "certificate: client",
    ],
    ["the token of a plugin", () => plugin(`echo '{"status":{"token":"p"}}'`), "authorization: Bearer p"],
    [
      "to a server whose certificate nobody checks",
      () => ({ user: { token: "t" }, cluster: { server: secure.url, "insecure-skip-tls-verify": true } }),
      "authorization: Bearer t",
    ],
    [
      "to a server with the authority in the kubeconfig, by another name",
      () => ({
        user: { token: "t" },
        cluster: {
          server: secure.url,
          "certificate-authority-data": base64(certificates.caFile),
          "tls-server-name": "localhost",
        },
      }),
      "authorization: Bearer t",
    ],
  ])("%s", async (_what, parts, sent) => {
    expect(await outcomes([written(configOf(parts()))])).toEqual({ library: sent, vigil: sent });
  });

  test("nothing to a server of another authority", async () => {
    const { library, vigil } = await outcomes([written(configOf({ cluster: { server: secure.url } }))]);
    expect([library, vigil]).toEqual(Array(2).fill(expect.stringMatching(/^refused: .*certificate/)));
  });
});

/** A difference on purpose: its row in the table, and what each reader does. */
interface Difference extends Outcomes {
  readonly subject: string;
  readonly found: () => Promise<Outcomes>;
}

const token = { user: { token: "t" } };
const SENT = "authorization: Bearer t";

const DIFFERENCES: readonly Difference[] = [
  {
    subject: "`KUBECONFIG` with several files",
    found: () => outcomes([written(configOf(token)), join(folder, "missing")]),
    library: "refused: ENOENT: no such file or directory, open '/missing'",
    vigil: SENT,
  },
  {
    subject: "`KUBECONFIG` with several files",
    found: () => outcomes([written(configOf(token)), written(configOf({ user: { token: "other" } }), "second")]),
    library: "refused: Duplicate cluster: k",
    vigil: SENT,
  },
  {
    subject: "`tokenFile` of a user",
    found: () => outcomes([written(configOf({ user: { tokenFile: written("t", "token") } }))]),
    library: "nobody",
    vigil: SENT,
  },
  {
    subject: "`as-groups`, `as-uid`, `as-user-extra`",
    found: () => outcomes([written(configOf({ user: { token: "t", as: "a", "as-groups": ["g"], "as-uid": "1" } }))]),
    library: `${SENT}, impersonate-user: a`,
    vigil: `${SENT}, impersonate-group: g, impersonate-uid: 1, impersonate-user: a`,
  },
  {
    subject: "`certificate-authority` beside `certificate-authority-data`",
    found: () => {
      const authority = {
        "certificate-authority": certificates.clientCert,
        "certificate-authority-data": base64(certificates.caFile),
      };
      return outcomes([written(configOf({ ...token, cluster: { server: secure.url, ...authority } }))]);
    },
    library: "refused: self-signed certificate in certificate chain",
    vigil: SENT,
  },
  {
    subject: "a context without a user",
    found: () => outcomes([written(configOf({ context: {} }))]),
    library: "refused: self-signed certificate in certificate chain",
    vigil: "nobody",
  },
  {
    subject: "an http:// server",
    found: () => outcomes([written(configOf({ ...token, cluster: { server: plain.url } }))]),
    library: "refused: HTTP protocol is not allowed when skipTLSVerify is not set or false",
    vigil: SENT,
  },
  {
    subject: "an exec plugin",
    found: () => outcomes([written(configOf(plugin(`echo '{"status":{"token":"'\${KUBERNETES_EXEC_INFO:+t}'"}}'`)))]),
    library: "nobody",
    vigil: SENT,
  },
  {
    subject: "an exec plugin",
    found: () => {
      mkdirSync(join(folder, "bin"), { recursive: true });
      writeFileSync(join(folder, "bin/plugin"), `#!/bin/sh\necho '{"status":{"token":"t"}}'`, { mode: 0o755 });
      const exec = { apiVersion: PLUGIN_API, command: "./bin/plugin" };
      return outcomes([written(configOf({ user: { exec } }))]);
    },
    library: "refused: spawn ./bin/plugin ENOENT",
    vigil: SENT,
  },
  {
    subject: "a proxy from the environment",
    found: () => {
      const cluster = { server: "http://cluster.invalid", "insecure-skip-tls-verify": true };
      return outcomes([written(configOf({ ...token, cluster }))], { HTTP_PROXY: plain.url });
    },
    library: expect.stringMatching(/^refused: .*cluster\.invalid/),
    vigil: SENT,
  },
  {
    subject: "a file that cannot be used",
    found: () => outcomes([written("a: [")]),
    library: "refused: unexpected end of the stream within a flow collection (1:5)",
    vigil: expect.stringMatching(/^refused: kubeconfig \/config: .*line 1/),
  },
  {
    subject: "a file that cannot be used",
    found: () => outcomes([written("null")]),
    library: "refused: Cannot read properties of null (reading 'clusters')",
    vigil: "refused: kubeconfig /config: it is empty or not a mapping",
  },
  {
    subject: "a file that cannot be used",
    found: () => outcomes([written(configOf({ cluster: { server: "10.0.0.1:6443" } }))]),
    library: "refused: You need to define an absolute base url for the server.",
    vigil: 'refused: kubeconfig /config: context "c": server "10.0.0.1:6443" is not an http or https URL',
  },
];

describe("the readers differ on purpose", () => {
  test.each(DIFFERENCES)("about $subject", async ({ found, library, vigil }) => {
    expect(await found()).toEqual({ library, vigil });
  });

  test("as decision 30 lists it, and in nothing else", () => {
    const pages = readdirSync(DECISIONS).map((name) => readFileSync(join(DECISIONS, name), "utf8"));
    const [, table = ""] = pages.find((page) => page.includes(TABLE_HEAD))?.split(TABLE_HEAD) ?? [];
    const rows = table.split("\n\n", 1)[0]?.split("\n").slice(2) ?? [];
    const subjects = rows.map((row) => row.split("|")[1]?.trim());
    expect(subjects.filter((subject) => subject !== HANGS)).toEqual([
      ...new Set(DIFFERENCES.map(({ subject }) => subject)),
    ]);
    expect(subjects).toContain(HANGS);
  });
});
