/** A NATS operator for a test: signs an account and its users, as `nsc` does, without that tool or a server. */
import { nkeys } from "@nats-io/transport-node";
import type { Permissions } from "../../deploy/nats/roles.ts";

/** The signer and the subject. */
type KeyPair = ReturnType<typeof nkeys.createUser>;

/** An operator with one account. */
export interface NatsOperator {
  /** Configuration of a server that trusts this operator. */
  readonly config: string;
  /** The contents of a credentials file for one more user of the account. */
  credentials(name: string, permissions: Permissions): string;
}

const UNLIMITED = { subs: -1, data: -1, payload: -1 };

/** Makes an operator and its account. */
export function natsOperator(): NatsOperator {
  const [operator, account] = [nkeys.createOperator(), nkeys.createAccount()];
  const limits = { ...UNLIMITED, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const operatorJwt = jwt(operator, operator.getPublicKey(), "test", { type: "operator", version: 2 });
  const accountJwt = jwt(operator, account.getPublicKey(), "vigil", { type: "account", version: 2, limits });
  return {
    config: `operator: ${operatorJwt}\nresolver: MEMORY\nresolver_preload: { ${account.getPublicKey()}: ${accountJwt} }\n`,
    credentials(name, { publish, subscribe }) {
      const user = nkeys.createUser();
      const permissions = { pub: { allow: publish }, sub: { allow: subscribe } };
      const userJwt = jwt(account, user.getPublicKey(), name, {
        type: "user",
        version: 2,
        ...UNLIMITED,
        ...permissions,
      });
      const seed = new TextDecoder().decode(user.getSeed());
      return `${block("NATS USER JWT", userJwt)}\n${block("USER NKEY SEED", seed)}`;
    },
  };
}

function block(title: string, text: string): string {
  return `-----BEGIN ${title}-----\n${text}\n------END ${title}------\n`;
}

function jwt(issuer: KeyPair, subject: string, name: string, nats: Readonly<Record<string, unknown>>): string {
  const claims = {
    jti: `${name}-${subject}`,
    iat: 1_700_000_000,
    iss: issuer.getPublicKey(),
    sub: subject,
    name,
    nats,
  };
  const signed = `${encoded({ typ: "JWT", alg: "ed25519-nkey" })}.${encoded(claims)}`;
  return `${signed}.${Buffer.from(issuer.sign(new TextEncoder().encode(signed))).toString("base64url")}`;
}

function encoded(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
