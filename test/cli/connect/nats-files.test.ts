/** Shows the messages about unusable NATS files, before a process waits for NATS. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runCommandLine } from "../../../services/cli/command-line.ts";
import type { Host } from "../../../services/cli/verb.ts";
import { processFiles } from "../../../services/platform/process/process.ts";
import { makeCertificates } from "../../support/certificates.ts";
import { fakeHost } from "../fake-host.ts";

const FOLDER = mkdtempSync(join(tmpdir(), "vigil-nats-files-"));
const { caFile, serverKey, clientCert, clientKey } = makeCertificates(FOLDER);
const none = join(FOLDER, "none");
const text = join(FOLDER, "text");
writeFileSync(text, "not what is looked for");
afterAll(() => rmSync(FOLDER, { recursive: true }));

const get = async (flags: readonly string[], changes: Partial<Host> = {}) => {
  const host = { ...fakeHost(), readFile: (path: string) => readFileSync(path, "utf8"), ...changes };
  const code = await runCommandLine(["get", "fleet", "--nats=tls://127.0.0.1:1", ...flags], host);
  return { code, err: host.err() };
};

test.each([
  [[`--nats-tls-cert=${clientCert}`], `--nats-tls-cert=${clientCert}: needs its pair; add --nats-tls-key`],
  [[`--nats-tls-key=${clientKey}`], `--nats-tls-key=${clientKey}: needs its pair; add --nats-tls-cert`],
  [[`--nats-nkey=${text}`, `--nats-creds=${text}`], `--nats-nkey=${text}: conflicts with --nats-creds`],
])("%j is a usage problem", async (flags, problem) => {
  const { code, err } = await get(flags);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^vigil: .*\n$/) });
  expect(err).toContain(problem);
});

test.each([
  [[`--nats-nkey=${none}`], `--nats-nkey=${none}: no such file or directory`],
  [[`--nats-nkey=${text}`], `--nats-nkey=${text}: must hold an NKey seed, one line that begins with SU`],
  [[`--nats-creds=${text}`], `--nats-creds=${text}: must hold a JWT and its seed, as nsc writes them`],
  [[`--nats-tls-ca=${text}`], `--nats-tls-ca=${text}: must hold a certificate in PEM`],
  [
    [`--nats-tls-cert=${clientCert}`, `--nats-tls-key=${text}`],
    `--nats-tls-key=${text}: must hold a private key in PEM without a password`,
  ],
  [
    [`--nats-tls-cert=${clientCert}`, `--nats-tls-key=${serverKey}`],
    `--nats-tls-key=${serverKey}: not the key of --nats-tls-cert=${clientCert}`,
  ],
])("%j fails with one line", async (flags, problem) => {
  expect(await get(flags)).toEqual({ code: 1, err: `vigil: ${problem}\n` });
});

test("warns of a seed or key that every user can read, but not of a group-readable one", async () => {
  const tls = [`--nats-tls-cert=${clientCert}`, `--nats-tls-key=${clientKey}`];
  const warned = async (mode: number) => {
    chmodSync(clientKey, mode);
    return (await get(tls, { readableByAll: (path) => processFiles.readableByAll(path) })).err;
  };
  expect(await warned(0o640)).not.toContain("every user");
  expect(await warned(0o644)).toContain(
    `vigil: --nats-tls-key=${clientKey}: readable by every user of this machine; fix it with chmod o-r\n`,
  );
});

test("usable files are followed by the connection to NATS", async () => {
  const tls = [`--nats-tls-ca=${caFile}`, `--nats-tls-cert=${clientCert}`, `--nats-tls-key=${clientKey}`];
  expect((await get(tls)).err).toContain("NATS at 127.0.0.1:1 cannot be reached");
});
