/** Certificates for a test: an authority, a server of this machine and a client, made by openssl. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Paths of the files that were made. */
export interface Certificates {
  readonly caFile: string;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

/** Makes certificates in a folder, valid for a day, for 127.0.0.1 and localhost. */
export function makeCertificates(folder: string): Certificates {
  const file = (name: string) => join(folder, name);
  openssl("req", "-x509", ...KEY, "-days", "1", "-subj", "/CN=test", "-keyout", file("ca.key"), "-out", file("ca.pem"));
  const own = { names: "IP:127.0.0.1,DNS:localhost", days: 1 };
  const server = makeCertificate(folder, "server", own);
  const client = makeCertificate(folder, "client", own);
  return {
    caFile: file("ca.pem"),
    serverCert: server.cert,
    serverKey: server.key,
    clientCert: client.cert,
    clientKey: client.key,
  };
}

/**
 * Makes one more certificate of the authority of that folder, with its key, for these names. It is valid from now on,
 * or was until now if its days are negative.
 */
export function makeCertificate(
  folder: string,
  name: string,
  { names, days }: { readonly names: string; readonly days: number },
): { readonly cert: string; readonly key: string } {
  const file = (ending: string) => join(folder, ending);
  writeFileSync(file(`${name}.cnf`), `subjectAltName=${names}\n`);
  openssl("req", ...KEY, "-subj", `/CN=${name}`, "-keyout", file(`${name}.key`), "-out", file(`${name}.csr`));
  const signer = ["-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-CAcreateserial", "-extfile", file(`${name}.cnf`)];
  openssl("x509", "-req", "-days", String(days), "-in", file(`${name}.csr`), ...signer, "-out", file(`${name}.pem`));
  return { cert: file(`${name}.pem`), key: file(`${name}.key`) };
}

function openssl(...words: string[]): void {
  execFileSync("openssl", words, { stdio: "pipe" });
}
