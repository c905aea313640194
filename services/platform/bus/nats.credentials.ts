/** What proves to NATS who we are and who it is, from files that may be renewed meanwhile. It opens no connection. */
import { accessSync, constants, readFileSync } from "node:fs";
import { type Authenticator, credsAuthenticator, nkeyAuthenticator } from "@nats-io/transport-node";

/** Where the credentials lie; each file is read again for every connection. */
export interface NatsCredentialFiles {
  /** A JWT and its seed, as `nsc` writes them. */
  readonly credsFile?: string;
  /** An NKey seed. */
  readonly nkeyFile?: string;
}

/**
 * How to answer a server's challenge; null without a file. Throws an Error of one line for a file that is of no use.
 */
export function authenticatorOf({ credsFile, nkeyFile }: NatsCredentialFiles): Authenticator | null {
  if (credsFile !== undefined) return authenticatorFrom(credsFile, credsAuthenticator);
  if (nkeyFile !== undefined) return authenticatorFrom(nkeyFile, (seed) => nkeyAuthenticator(trimmed(seed)));
  return null;
}

/** Files of TLS, in PEM: the authority that vouches for servers, and our own certificate with its key. */
export interface NatsTlsFiles {
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
}

/** The same files, for the client that reads them. Throws an Error of one line for one that cannot be read. */
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

/** While the file cannot be read or used, its last good contents stand in: the client ends for good on an exception. */
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
