/** How credentials are kept fresh: files and plugins that are asked again in time, and at once after a refusal. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { credentialsFor } from "../../services/runtime/kube.credentials.ts";
import type { Authorize } from "../../services/runtime/kube.https.ts";

let folder: string;
let nowMs: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "credentials-"));
  nowMs = 1000;
});
afterEach(() => rmSync(folder, { recursive: true }));

function authorizeAs(user: Readonly<Record<string, unknown>>): Authorize {
  const target = { server: "https://server", origin: "a test", cluster: {}, user };
  return credentialsFor(
    () => target,
    () => nowMs,
  );
}

describe("a token file", () => {
  test("is read again each minute, and at once when its token was refused", async () => {
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

  test("that cannot be read now is tried again with the next request", async () => {
    const file = join(folder, "token");
    const authorize = authorizeAs({ tokenFile: file });
    await expect(authorize(false)).rejects.toThrow("ENOENT");
    writeFileSync(file, "one");
    expect((await authorize(false)).headers).toEqual({ authorization: "Bearer one" });
  });
});

describe("a certificate", () => {
  test("that was replaced on disk is taken up within a minute", async () => {
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

describe("an exec plugin", () => {
  /** Gives a token that tells how often it has run, and keeps what it was told. */
  function plugin(): Authorize {
    const runs = join(folder, "runs");
    const script = join(folder, "plugin.sh");
    const token = `'"$(wc -l < ${runs} | tr -d ' ')"'`;
    const credential = `{"kind":"ExecCredential","status":{"token":"${token}"}}`;
    writeFileSync(script, `echo "$KUBERNETES_EXEC_INFO" >> ${runs}\necho '${credential}'\n`);
    const exec = { apiVersion: "client.authentication.k8s.io/v1beta1", command: "sh", args: [script] };
    return authorizeAs({ exec });
  }

  test("runs once, and again when its token was refused, but not for each of many refusals", async () => {
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

  test("is told which kind of answer is expected of it", async () => {
    await plugin()(false);
    expect(JSON.parse(readFileSync(join(folder, "runs"), "utf8"))).toEqual({
      apiVersion: "client.authentication.k8s.io/v1beta1",
      kind: "ExecCredential",
      spec: { interactive: false },
    });
  });
});
