/** Kubeconfigs of every kind: what the server receives, and the one-line error for each unusable one. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { KubeConfigProblem, loadKubeConfig } from "../../../services/platform/kube/auth/kubeconfig.ts";
import { exchanged, get, type LocalServer, localServer } from "./local-server.ts";

let server: LocalServer;
let seen: string[];
let folder: string;

beforeAll(async () => {
  server = await localServer(({ headers, url }, response) => {
    const { authorization = "", "impersonate-user": impersonated } = headers;
    seen.push(impersonated === undefined ? authorization : `${authorization} as ${String(impersonated)}`);
    response.end(url);
  });
});
afterAll(() => server.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
  seen = [];
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Parts {
  readonly user?: object;
  readonly cluster?: object;
  readonly context?: string;
}

function kubeconfig({ user = {}, cluster = {}, context = "c" }: Parts, name = "config"): string {
  const file = join(folder, name);
  const config = {
    "current-context": context,
    contexts: [{ name: context, context: { cluster: "k", user: "u" } }],
    clusters: [{ name: "k", cluster: { server: server.url, ...cluster } }],
    users: [{ name: "u", user }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function ask(user: object): Promise<void> {
  const connection = await loadKubeConfig({ kubeconfig: kubeconfig({ user }), allowTokenOverHttp: true });
  expect(await exchanged(connection.wire, get("/"))).toMatchObject({ status: 200 });
  connection.wire.close();
}

describe("a user of a kubeconfig", () => {
  test("with an exec plugin sends its token", async () => {
    const plugin = join(folder, "plugin.sh");
    writeFileSync(plugin, `echo '{"kind":"ExecCredential","status":{"token":"of-plugin"}}'`);
    await ask({ exec: { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: [plugin] } });
    expect(seen).toEqual(["Bearer of-plugin"]);
  });

  test("with a relative exec plugin finds it by its kubeconfig", async () => {
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin", "plugin"), `#!/bin/sh\necho '{"status":{"token":"of-plugin"}}'`, { mode: 0o755 });
    await ask({ exec: { apiVersion: "client.authentication.k8s.io/v1", command: "./bin/plugin" } });
    expect(seen).toEqual(["Bearer of-plugin"]);
  });

  test("with a token, password or impersonated user sends them", async () => {
    await ask({ token: "t" });
    await ask({ username: "me", password: "secret" });
    await ask({ token: "t", as: "other" });
    await ask({});
    expect(seen).toEqual(["Bearer t", `Basic ${btoa("me:secret")}`, "Bearer t as other", ""]);
  });

  test("with impersonated groups and extras sends these too", async () => {
    const lines: string[] = [];
    const echo = await localServer(({ rawHeaders }, response) => {
      lines.push(
        ...rawHeaders.map((part, at) => `${part}: ${rawHeaders[at + 1]}`).filter((line) => /^Imp/i.test(line)),
      );
      response.end();
    });
    const more = { "as-groups": ["a", "b"], "as-uid": "u-1", "as-user-extra": { "acme.com/scope": ["x"] } };
    const user = { token: "t", as: "other", ...more };
    const file = kubeconfig({ user, cluster: { server: echo.url } });
    const { wire } = await loadKubeConfig({ kubeconfig: file, allowTokenOverHttp: true });
    await exchanged(wire, get("/"));
    wire.close();
    await echo.close();
    expect(lines).toEqual([
      "impersonate-user: other",
      "impersonate-uid: u-1",
      "impersonate-group: a",
      "impersonate-group: b",
      "impersonate-extra-acme.com%2Fscope: x",
    ]);
  });

  test("with an OIDC provider sends its id token while valid", async () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const idToken = `${part({ alg: "none" })}.${part({ exp: 4_102_444_800 })}.signature`;
    const config = { "client-id": "vigil", "idp-issuer-url": "https://issuer.invalid", "id-token": idToken };
    await ask({ "auth-provider": { name: "oidc", config } });
    expect(seen).toEqual([`Bearer ${idToken}`]);
  });
});

describe("a proxy", () => {
  test("of the cluster or the environment receives the requests", async () => {
    const through = async (cluster: object, environment: NodeJS.ProcessEnv): Promise<void> => {
      const config = kubeconfig({ cluster: { server: "http://cluster.invalid", ...cluster } });
      const { wire } = await loadKubeConfig({ kubeconfig: config }, environment);
      expect(await exchanged(wire, get("/api"))).toMatchObject({ text: "http://cluster.invalid/api" });
      wire.close();
    };
    await through({ "proxy-url": server.url }, {});
    await through({}, { HTTP_PROXY: server.url, NO_PROXY: "elsewhere" });
    await through({}, { http_proxy: server.url });
  });

  const wayTo = async (host: string, environment: NodeJS.ProcessEnv): Promise<string> => {
    const config = kubeconfig({ cluster: { server: `http://${host}` } });
    const { wire } = await loadKubeConfig({ kubeconfig: config }, environment);
    const ending = await exchanged(wire, get("/api"));
    wire.close();
    return ending.kind === "answer" ? "by the proxy" : "directly";
  };

  test("of the environment is not used for NO_PROXY, as in Go", async () => {
    const way = (host: string, exceptions: string) => wayTo(host, { HTTP_PROXY: server.url, NO_PROXY: exceptions });
    expect(await way("127.7.7.7:1", "")).toBe("directly");
    expect(await way("0.0.0.0:1", "10.96.0.0/12, 0.0.0.0/8")).toBe("directly");
    expect(await way("10.112.0.1:1", "10.96.0.0/12")).toBe("by the proxy");
    expect(await way("[::]:1", "::/127")).toBe("directly");
    expect(await way("api.k8s.invalid:1", "k8s.invalid")).toBe("directly");
    expect(await way("k8s.invalid:1", "K8S.invalid")).toBe("directly");
    expect(await way("api.k8s.invalid:1", "*.k8s.invalid")).toBe("directly");
    expect(await way("k8s.invalid:1", ".k8s.invalid")).toBe("by the proxy");
    expect(await way("notk8s.invalid:1", "k8s.invalid")).toBe("by the proxy");
    expect(await way("k8s.invalid:1", "k8s.invalid:2")).toBe("by the proxy");
    expect(await way("k8s.invalid", "k8s.invalid:80")).toBe("directly");
    expect(await way("k8s.invalid:1", "elsewhere,*")).toBe("directly");
  });

  test("of the environment may lack a scheme, and an empty variable is skipped", async () => {
    expect(await wayTo("k8s.invalid", { HTTP_PROXY: new URL(server.url).host })).toBe("by the proxy");
    expect(await wayTo("k8s.invalid", { HTTP_PROXY: "", http_proxy: server.url })).toBe("by the proxy");
    expect(await wayTo("k8s.invalid", { HTTP_PROXY: server.url, NO_PROXY: "", no_proxy: "*" })).toBe("directly");
  });

  test("of the environment is not used for this machine", async () => {
    const proxy = { HTTP_PROXY: "http://proxy.invalid", HTTPS_PROXY: "http://proxy.invalid" };
    const { wire } = await loadKubeConfig({ kubeconfig: kubeconfig({}) }, proxy);
    expect(await exchanged(wire, get("/api"))).toMatchObject({ text: "/api" });
    wire.close();
  });
});

describe("which kubeconfig", () => {
  test("is the flag's, else all in KUBECONFIG, else the home's", async () => {
    const other = kubeconfig({ user: { token: "other" }, context: "other" }, "second");
    const first = kubeconfig({ user: { token: "first" } }, "first");
    const environment = { KUBECONFIG: [first, join(folder, "missing"), other].join(delimiter), HOME: folder };
    const merged = await loadKubeConfig({ context: "other", allowTokenOverHttp: true }, environment);
    expect(merged.describe).toBe(`${server.url} (kubeconfig ${first}${delimiter}${other}, context other)`);
    await exchanged(merged.wire, get("/"));
    // Both have a user of the same name: the first file's counts.
    expect(seen).toEqual(["Bearer first"]);
    merged.wire.close();
    const flag = await loadKubeConfig({ kubeconfig: other, allowTokenOverHttp: true }, environment);
    expect(flag.describe).toContain("context other");
    flag.wire.close();
  });
});

describe("a new current context", () => {
  const twoContexts = (current: string): string => {
    const file = join(folder, "config");
    const part = (name: string, content: object) => ({ name, ...content });
    const config = {
      "current-context": current,
      contexts: ["one", "two"].map((name) => part(name, { context: { cluster: name, user: name } })),
      clusters: [
        part("one", { cluster: { server: server.url } }),
        part("two", { cluster: { server: "https://other.invalid" } }),
      ],
      users: ["one", "two"].map((name) => part(name, { user: { token: `token-of-${name}` } })),
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  };

  test("never sends its token to the first cluster", async () => {
    const { wire } = await loadKubeConfig({ kubeconfig: twoContexts("one"), allowTokenOverHttp: true });
    twoContexts("two");
    const later = vi.spyOn(performance, "now").mockReturnValue(performance.now() + 120_000);
    await exchanged(wire, get("/"));
    later.mockRestore();
    wire.close();
    expect(seen).toEqual(["Bearer token-of-one"]);
  });
});

describe("a bad kubeconfig is refused", () => {
  const problemOf = async (options: Parameters<typeof loadKubeConfig>[0], environment = {}): Promise<string> => {
    const problem: unknown = await loadKubeConfig(options, environment).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(KubeConfigProblem);
    const { message } = problem as KubeConfigProblem;
    expect(message).not.toContain("\n");
    return message.replaceAll(folder, "");
  };
  const written = (text: string): string => {
    const file = join(folder, "config");
    writeFileSync(file, text);
    return file;
  };

  test("with the file and the fault", async () => {
    expect(await problemOf({ kubeconfig: join(folder, "none") })).toBe(
      "kubeconfig /none: ENOENT: no such file or directory",
    );
    expect(await problemOf({ kubeconfig: written("a: [") })).toMatch(/^kubeconfig \/config: .*line 1.*[^:]$/);
    expect(await problemOf({ kubeconfig: written("") })).toBe("kubeconfig /config: it is empty or not a mapping");
    expect(await problemOf({ kubeconfig: written("clusters: []") })).toBe(
      "kubeconfig /config: it has no contexts, so it names no cluster to talk to",
    );
    expect(await problemOf({ kubeconfig: written("contexts: [{ name: c }, { name: d }]") })).toBe(
      "kubeconfig /config: it has no current-context: give --context, one of c, d",
    );
  });

  test("with the context and the existing ones", async () => {
    expect(await problemOf({ kubeconfig: kubeconfig({}), context: "x" })).toBe(
      'kubeconfig /config: there is no context "x", only c',
    );
    const dangling = (context: object): string =>
      written(
        JSON.stringify({
          "current-context": "c",
          contexts: [{ name: "c", context }],
          clusters: [{ name: "k", cluster: {} }],
        }),
      );
    expect(await problemOf({ kubeconfig: dangling({ cluster: "gone", user: "u" }) })).toBe(
      'kubeconfig /config: context "c" names a cluster that is not there: gone',
    );
    expect(await problemOf({ kubeconfig: dangling({ cluster: "k", user: "gone" }) })).toBe(
      'kubeconfig /config: context "c" names a user that is not there: gone',
    );
  });

  test("with a bad proxy's variable, without its password", async () => {
    const config = kubeconfig({ cluster: { server: "https://k8s.invalid:6443" } });
    expect(await problemOf({ kubeconfig: config }, { https_proxy: "socks5://u:p@x:1080" })).toBe(
      'kubeconfig /config, context c: HTTPS_PROXY "socks5://***@x:1080" is not an http or https URL: ' +
        "give such a one, or name k8s.invalid:6443 in NO_PROXY",
    );
  });

  test("with the server, certificate or plugin", async () => {
    expect(await problemOf({ kubeconfig: kubeconfig({ cluster: { server: "10.0.0.1:6443" } }) })).toBe(
      'kubeconfig /config: context "c": server "10.0.0.1:6443" is not an http or https URL',
    );
    expect(await problemOf({ kubeconfig: kubeconfig({ cluster: { "proxy-url": "socks5://u:p@x" } }) })).toBe(
      'kubeconfig /config: context "c": proxy-url "socks5://***@x" is not an http or https URL',
    );
    expect(await problemOf({ kubeconfig: kubeconfig({ cluster: { "certificate-authority": "ca.crt" } }) })).toMatch(
      /^kubeconfig \/config, context c: ENOENT.*ca\.crt/,
    );
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "no-such-plugin" };
    expect(await problemOf({ kubeconfig: kubeconfig({ user: { exec } }) })).toMatch(
      /^kubeconfig \/config, context c: spawn no-such-plugin ENOENT/,
    );
  });

  test("with the places of one if there is none", async () => {
    expect(await problemOf({}, { HOME: folder })).toBe(
      "no kubeconfig: /.kube/config does not exist, and this is no pod: " +
        "give --kubeconfig, set KUBECONFIG, or run in a cluster",
    );
  });
});
