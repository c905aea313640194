/** How credentials stay fresh: files and plugins are read again in time, and at once after a refusal. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { credentialsFor } from "../../../services/platform/kube/auth/credentials.ts";
import { execPlugin } from "../../../services/platform/kube/auth/exec-plugin.ts";
import type { Authorize } from "../../../services/platform/kube/transport/https.ts";

let folder: string;
let nowMs: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "credentials-"));
  nowMs = 1000;
});
afterEach(() => rmSync(folder, { recursive: true }));

function authorizeAs(user: Readonly<Record<string, unknown>>, cluster = {}): Authorize {
  const target = { server: "https://server", cluster, user };
  return credentialsFor(() => target, { monotonicMs: () => nowMs, wallMs: () => nowMs, environment: {} });
}

describe("a token file", () => {
  test("is read again each minute, and at once after a refusal", async () => {
    const file = join(folder, "token");
    const authorize = authorizeAs({ tokenFile: file });
    const token = async (renew = false) => (await authorize(renew)).headers.authorization;
    writeFileSync(file, "one\n");
    expect(await token()).toBe("Bearer one");
    writeFileSync(file, "two\n");
    nowMs += 59_999;
    expect(await token()).toBe("Bearer one");
    nowMs += 1;
    expect(await token()).toBe("Bearer two");
    writeFileSync(file, "three\n");
    nowMs += 2000;
    expect(await token()).toBe("Bearer two");
    expect(await token(true)).toBe("Bearer three");
  });

  test("takes precedence over the token beside it", async () => {
    const file = join(folder, "token");
    const authorize = authorizeAs({ token: "of-old", tokenFile: file });
    writeFileSync(file, "of-file");
    expect((await authorize(false)).headers.authorization).toBe("Bearer of-file");
    rmSync(file);
    expect((await authorizeAs({ token: "of-old", tokenFile: file })(false)).headers.authorization).toBe(
      "Bearer of-old",
    );
  });

  test("that gets unreadable leaves its last token in use until a refusal", async () => {
    const file = join(folder, "token");
    const authorize = authorizeAs({ tokenFile: file });
    writeFileSync(file, "one");
    await authorize(false);
    rmSync(file);
    nowMs += 60_000;
    expect((await authorize(false)).headers.authorization).toBe("Bearer one");
    await expect(authorize(true)).rejects.toThrow("ENOENT");
    writeFileSync(file, "two");
    expect((await authorize(false)).headers.authorization).toBe("Bearer two");
  });

  test("that is unreadable is read again with the next request", async () => {
    const file = join(folder, "token");
    const authorize = authorizeAs({ tokenFile: file });
    await expect(authorize(false)).rejects.toThrow("ENOENT");
    writeFileSync(file, "one");
    expect((await authorize(false)).headers).toEqual({ authorization: "Bearer one" });
  });
});

describe("a certificate", () => {
  test("that was replaced on disk is used within a minute", async () => {
    const [cert, key] = [join(folder, "cert"), join(folder, "key")];
    writeFileSync(cert, "one");
    writeFileSync(key, "key");
    const authorize = authorizeAs({ "client-certificate": cert, "client-key": key });
    expect((await authorize(false)).tls).toEqual({ cert: "one", key: "key" });
    writeFileSync(cert, "two");
    nowMs += 60_000;
    expect((await authorize(false)).tls).toEqual({ cert: "two", key: "key" });
  });
});

describe("a certificate authority", () => {
  test("in the kubeconfig precedes its file, also without a user", async () => {
    const file = join(folder, "ca");
    writeFileSync(file, "of-file");
    const cluster = { "certificate-authority": file };
    expect((await authorizeAs({}, cluster)(false)).tls).toEqual({ ca: "of-file" });
    const withData = { ...cluster, "certificate-authority-data": btoa("of-data") };
    expect((await authorizeAs({}, withData)(false)).tls).toEqual({ ca: "of-data" });
  });
});

describe("an exec plugin", () => {
  /** A plugin whose token counts its runs; it stores its input. */
  function plugin(): Authorize {
    const runs = join(folder, "runs");
    const script = join(folder, "plugin.sh");
    const token = `'"$(wc -l < ${runs} | tr -d ' ')"'`;
    const credential = `{"kind":"ExecCredential","status":{"token":"${token}"}}`;
    writeFileSync(script, `echo "$KUBERNETES_EXEC_INFO" >> ${runs}\necho '${credential}'\n`);
    const exec = { apiVersion: "client.authentication.k8s.io/v1beta1", command: "sh", args: [script] };
    return authorizeAs({ exec });
  }

  test("runs again after a refusal, but not for each of many", async () => {
    const authorize = plugin();
    const token = async (renew = false) => (await authorize(renew)).headers.authorization;
    expect(await token()).toBe("Bearer 1");
    nowMs += 3_600_000;
    expect(await token()).toBe("Bearer 1");
    expect(await token(true)).toBe("Bearer 1");
    nowMs += 2000;
    expect(await Promise.all([token(true), token(true), token(true)])).toEqual(Array(3).fill("Bearer 2"));
    expect(await token()).toBe("Bearer 2");
  });

  /** Runs these lines of shell as the plugin. */
  const running = (lines: string, more = {}, cluster = {}): Authorize => {
    const script = join(folder, "lines.sh");
    writeFileSync(script, lines);
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: [script], ...more };
    return authorizeAs({ exec }, cluster);
  };

  test("runs once at a time, even when it is slow", async () => {
    const [runs, go] = [join(folder, "runs"), join(folder, "go")];
    const wait = `while [ ! -e ${go} ]; do sleep 0.01; done`;
    const authorize = running(`echo run >> ${runs}\n${wait}\necho '{"status":{"token":"t"}}'\n`);
    const first = authorize(false);
    nowMs += 60_000;
    const second = authorize(false);
    writeFileSync(go, "");
    expect((await Promise.all([first, second])).map(({ headers }) => headers.authorization)).toEqual(
      Array(2).fill("Bearer t"),
    );
    expect(readFileSync(runs, "utf8")).toBe("run\n");
  });

  test("that hangs is killed, and the error names it", async () => {
    const exec = { command: "sh", args: ["-c", "exec sleep 1000"] };
    const options = { exec, server: "https://server", cluster: {}, ca: null, wallMs: () => nowMs, timeoutMs: 100 };
    await expect(execPlugin(options)()).rejects.toThrow("exec plugin sh: no answer within 100 ms");
  });

  test("that fails is quoted by the first line of its error output", async () => {
    const authorize = running("echo >&2\necho 'An error occurred (ExpiredToken)' >&2\necho more >&2\nexit 1\n");
    const problem = authorize(false).catch((error: Error) => error.message);
    expect(await problem).toBe("exec plugin sh: An error occurred (ExpiredToken)");
  });

  test("finds its input closed when it prompts", async () => {
    const authorize = running(`read -r answer || answer=nobody\necho '{"status":{"token":"'$answer'"}}'\n`);
    expect((await authorize(false)).headers.authorization).toBe("Bearer nobody");
  });

  test("runs again when its token expires", async () => {
    const runs = join(folder, "runs");
    const ending = '"expirationTimestamp":"1970-01-01T00:01:00Z"';
    const count = `'"$(wc -l < ${runs} | tr -d ' ')"'`;
    const authorize = running(`echo run >> ${runs}\necho '{"status":{"token":"${count}",${ending}}}'\n`);
    expect((await authorize(false)).headers.authorization).toBe("Bearer 1");
    nowMs = 59_999;
    expect((await authorize(false)).headers.authorization).toBe("Bearer 1");
    nowMs += 5000;
    expect((await authorize(false)).headers.authorization).toBe("Bearer 2");
  });

  test("receives the cluster when it asks for it", async () => {
    const info = join(folder, "info");
    const lines = `echo "$KUBERNETES_EXEC_INFO" > ${info}\necho '{"status":{"token":"t"}}'\n`;
    const extensions = [{ name: "client.authentication.k8s.io/exec", extension: { audience: "a" } }];
    await running(lines, { provideClusterInfo: true }, { "certificate-authority-data": "Y2E=", extensions })(false);
    expect(JSON.parse(readFileSync(info, "utf8"))).toEqual({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      spec: {
        interactive: false,
        cluster: { server: "https://server", "certificate-authority-data": "Y2E=", config: { audience: "a" } },
      },
    });
  });

  test("receives the expected API version", async () => {
    await plugin()(false);
    expect(JSON.parse(readFileSync(join(folder, "runs"), "utf8"))).toEqual({
      apiVersion: "client.authentication.k8s.io/v1beta1",
      kind: "ExecCredential",
      spec: { interactive: false },
    });
  });
});
