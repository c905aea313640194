/** Reads NATS credentials and TLS files, which may be renewed while the process runs. */
import { accessSync, constants, readFileSync } from "node:fs";
import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";

/** Paths of credentials; each file is read again for every connection. */
export interface NatsCredentialFiles {
  /** A JWT and its seed, as `nsc` writes them. */
  readonly credsFile?: string;
  readonly nkeyFile?: string;
}

/** Answers a server's challenge; null without a file. Throws an Error of one line for an unusable file. */
export function authenticatorOf({ credsFile, nkeyFile }: NatsCredentialFiles): Authenticator | null {
  if (credsFile !== undefined) return authenticatorFrom(credsFile, credsAuthenticator);
  if (nkeyFile !== undefined) return authenticatorFrom(nkeyFile, (seed) => nkeyAuthenticator(trimmed(seed)));
  return null;
}

/** TLS files in PEM: the authority that signs servers, and our own certificate with its key. */
export interface NatsTlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}

/** Checks that the files are readable, for the client. Throws an Error of one line for one that is not. */
export function tlsOf(files: NatsTlsFiles): NatsTlsFiles {
  for (const file of Object.values(files)) {
    try {
      accessSync(file, constants.R_OK);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`NATS TLS file ${file}: ${why}`, { cause: error });
    }
  }
  return { ...files };
}

/** Uses the last good contents while the file is unusable: an exception would end the client permanently. */
function authenticatorFrom(file: string, authenticatorWith: (contents: Uint8Array) => Authenticator): Authenticator {
  const read = (nonce: string | undefined) => {
    const fresh = authenticatorWith(readFileSync(file));
    return { fresh, auth: fresh(nonce) };
  };
  let good: Authenticator;
  try {
    good = read("any nonce").fresh;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`NATS credentials ${file}: ${why}`, { cause: error });
  }
  return (nonce) => {
    try {
      const { fresh, auth } = read(nonce);
      good = fresh;
      return auth;
    } catch {
      return good(nonce);
    }
  };
}

function trimmed(seed: Uint8Array): Uint8Array {
  return new TextEncoder().encode(new TextDecoder().decode(seed).trim());
}
