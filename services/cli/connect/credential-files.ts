/** Reads the certificates, keys, seeds and tokens that flags name, and reports files that cannot be used. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { Failure, type Host, readNamedFile } from "../verb.ts";

type Reader = Pick<Host, "readFile">;

/** Shorter tokens can be guessed. */
const TOKEN_LENGTH_MIN = 16;

/** A certificate with its chain, and its key, in PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

const CERTIFICATE = "a certificate in PEM";

/** The first certificate in a flag's file. Throws a Failure. */
export function certificateIn(host: Reader, flag: string, file: string): X509Certificate {
  return usableFile(host, flag, file, CERTIFICATE, (text) => new X509Certificate(text));
}

/**
 * The content of the files of `--PREFIX-cert` and `--PREFIX-key`, which belong together. Each is read once: a file that
 * is renewed meanwhile would not be the one that was checked. Throws a Failure.
 */
export function pairIn(host: Reader, prefix: string, certFile: string, keyFile: string): CertificatePair {
  const cert = usableFile(host, `${prefix}-cert`, certFile, CERTIFICATE, (text) => {
    // Unlike X509Certificate it reads the complete chain, which may be half written.
    createSecureContext({ cert: text });
    return text;
  });
  const wanted = "a private key in PEM without a password";
  const key = usableFile(host, `${prefix}-key`, keyFile, wanted, (text) => ({ text, parsed: createPrivateKey(text) }));
  if (new X509Certificate(cert).checkPrivateKey(key.parsed)) return { cert, key: key.text };
  throw new Failure(`--${prefix}-key=${keyFile}: not the key of --${prefix}-cert=${certFile}`);
}

/** Warns of a secret that every user can read. The group may: Kubernetes mounts secrets that way. */
export function warnIfExposed(host: Pick<Host, "readableByAll" | "warn">, flag: string, file: string): void {
  if (file === "" || !host.readableByAll(file)) return;
  host.warn(`vigil: --${flag}=${file}: readable by every user of this machine; fix it with chmod o-r\n`);
}

/** A flag's file as `read` parses it; `wanted` describes its content. Throws a Failure. */
export function usableFile<V>(host: Reader, flag: string, file: string, wanted: string, read: (text: string) => V): V {
  const text = readNamedFile(host, flag, file);
  try {
    return read(text);
  } catch {
    throw new Failure(`--${flag}=${file}: must hold ${wanted}`);
  }
}

/** The token in a flag's file, without its line break. Throws a Failure. */
export function tokenIn(flag: string, file: string, host: Reader): string {
  const token = readNamedFile(host, flag, file).trim();
  if (/^[\x21-\x7e]+$/.test(token) && token.length >= TOKEN_LENGTH_MIN) return token;
  throw new Failure(`--${flag}=${file}: must hold one token of at least ${TOKEN_LENGTH_MIN} printable characters`);
}
