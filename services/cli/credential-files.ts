/** Reads the files that flags name as certificates, keys and seeds, and says what is wrong with them. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { Failure, type Host, readNamedFile } from "./verb.ts";

type Reader = Pick<Host, "readFile">;

/** Fewer characters than this could be tried out. */
const TOKEN_LENGTH_MIN = 16;

/** The first certificate in the file that a flag was given. Throws a Failure. */
export function certificateIn(host: Reader, flag: string, file: string): X509Certificate {
  return usableFile(host, flag, file, "a certificate in PEM", (text) => new X509Certificate(text));
}

/** The private key in the file that a flag was given. Throws a Failure. */
function keyIn(host: Reader, flag: string, file: string): KeyObject {
  return usableFile(host, flag, file, "a private key in PEM without a password", (text) => createPrivateKey(text));
}

/**
 * Makes sure that the files of `--PREFIX-cert` and `--PREFIX-key` belong together. Throws a
 * Failure.
 */
export function checkPair(host: Reader, prefix: string, certFile: string, keyFile: string): void {
  const certificate = certificateIn(host, `${prefix}-cert`, certFile);
  if (certificate.checkPrivateKey(keyIn(host, `${prefix}-key`, keyFile))) return;
  throw new Failure(`--${prefix}-key=${keyFile}: not the key of --${prefix}-cert=${certFile}`);
}

/**
 * Warns of a file with a secret that every user of the machine can read. One that its group can read is well: so are
 * secrets that Kubernetes mounts.
 */
export function warnIfExposed(host: Pick<Host, "readableByAll" | "warn">, flag: string, file: string): void {
  if (file === "" || !host.readableByAll(file)) return;
  host.warn(`vigil: --${flag}=${file}: every user of this machine can read it; take that right away with chmod o-r\n`);
}

/** What `read` makes of the file that a flag was given; `wanted` says what it must hold. Throws a Failure. */
export function usableFile<V>(host: Reader, flag: string, file: string, wanted: string, read: (text: string) => V): V {
  const text = readNamedFile(host, flag, file);
  try {
    return read(text);
  } catch {
    throw new Failure(`--${flag}=${file}: must hold ${wanted}`);
  }
}

/** The token that a file holds, without the line break at its end. Throws a Failure. */
export function tokenIn(flag: string, file: string, host: Reader): string {
  const token = readNamedFile(host, flag, file).trim();
  if (/^[\x21-\x7e]+$/.test(token) && token.length >= TOKEN_LENGTH_MIN) return token;
  throw new Failure(`--${flag}=${file}: must hold one token of at least ${TOKEN_LENGTH_MIN} characters`);
}
