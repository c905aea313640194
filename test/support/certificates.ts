/** Certificates for a test: an authority, a server of this machine and a client, made by openssl. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

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
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl("req", "-x509", ...key, "-days", "1", "-subj", "/CN=test", "-keyout", file("ca.key"), "-out", file("ca.pem"));
  writeFileSync(file("names.cnf"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
  for (const name of ["server", "client"]) {
    openssl("req", ...key, "-subj", `/CN=${name}`, "-keyout", file(`${name}.key`), "-out", file(`${name}.csr`));
    const signer = ["-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-CAcreateserial", "-extfile", file("names.cnf")];
    openssl("x509", "-req", "-days", "1", "-in", file(`${name}.csr`), ...signer, "-out", file(`${name}.pem`));
  }
  return {
    caFile: file("ca.pem"),
    serverCert: file("server.pem"),
    serverKey: file("server.key"),
    clientCert: file("client.pem"),
    clientKey: file("client.key"),
  };
}

function openssl(...words: string[]): void {
  execFileSync("openssl", words, { stdio: "pipe" });
}
